local function call(procedure, sn, arguments)
  local product = Config.solution().products[1]
  local rid = Device.rpcCall{pid = product, auth = {}, calls = {
    {id = 1, procedure = "lookup", arguments = {"alias", sn}},
  }}
  if rid.error or rid[1].status ~= "ok" then return nil, "unknown device" end
  local answer = Device.rpcCall{pid = product, auth = {client_id = rid[1].result}, calls = {
    {id = 2, procedure = procedure, arguments = arguments},
  }}
  if answer.error then return nil, answer.error end
  if answer[1].status ~= "ok" then return nil, answer[1].error and answer[1].error.message or answer[1].status end
  return answer[1].result or true
end

function set_target(sn, celsius)
  return call("write", sn, {{alias = "target"}, celsius})
end

function last_points(sn, alias, limit)
  return call("read", sn, {{alias = alias}, {limit = limit, sort = "desc"}})
end
