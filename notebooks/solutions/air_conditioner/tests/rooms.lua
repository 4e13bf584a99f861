describe("an air conditioner", function()
  it("takes a target and gives the last points", function()
    local room = lab.device("room-1")
    room:write{temperature = 24}
    lab.advance(60)
    room:write{temperature = 27}
    assert.are.equal(204, solution.put("/rooms/room-1", {json = {target = 21}}).status)
    assert.are.equal("21", room:read("target").target)
    local found = solution.get("/rooms/room-1").json
    assert.are.equal("fast", found.fan)
    assert.are.equal(2, #found.points)
    assert.are.equal(27, tonumber(found.points[1][2]))
  end)

  it("does not know other rooms", function()
    assert.are.equal(404, solution.get("/rooms/none").status)
    assert.are.equal(404, solution.put("/rooms/none", {json = {target = 21}}).status)
    assert.are.equal(200, solution.get("/").status)
  end)
end)
