--#EVENT weather frost
local before = Keystore.get{key = "vents"}.value
Keystore.set{key = "vents", value = "closed"}
print("vents closed at " .. warning.temperature .. " °C")
return {vents = "closed", before = before}
