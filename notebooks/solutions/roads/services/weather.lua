--#EVENT weather frost
-- The colder, the more of them.
local gritters = math.ceil(-warning.temperature / 2)
print(gritters .. " gritters to " .. warning.station)
return {gritters = gritters, road = warning.station}
