local total = Keystore.get({key = "litres." .. operation.sn})
return {litres = tonumber(total.value) or 0}
