if event.type == "data_in" then
  for _, point in ipairs(event.payload) do
    require("local.readings").add(event.identity, point)
  end
elseif event.type == "provisioned" then
  Device2.addIdentityTag({identity = event.identity, tags = {{name = "site", value = "roof"}}})
end
