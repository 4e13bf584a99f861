function kv_read(sn)
  local kept = Keystore.get({key = sn})
  return kept.value and from_json(kept.value) or {}
end

function kv_write(sn, value)
  Keystore.set({key = sn, value = to_json(value)})
end

function product_id()
  return Config.solution().products[1]
end
