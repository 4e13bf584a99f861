--#EVENT {product.id} event
if event.type == "data_in" and #event.payload > 0 then
  Keystore.set({key = "seen." .. event.identity, value = event.timestamp})
end
