describe("a dashboard", function()
  it("shows what a device wrote, newest first", function()
    local one, two = lab.device("d-1"), lab.device("d-2")
    for hour = 1, 3 do
      one:write{temperature = 20 + hour}
      two:write{temperature = 5}
      lab.advance{hours = 1}
    end
    local found = solution.get("/devices/d-1/series").json
    assert.are.equal("time", found.columns[1])
    assert.are.equal(3, #found.values)
    assert.are.equal(23, found.values[1][2])
    assert.are.equal(21, found.values[3][2])
    assert.are.equal(2, #solution.get("/devices/d-1/series?hours=2").json.values)
    assert.are.same({}, solution.get("/devices/d-3/series").json.values)
    assert.are.same({"temperature"}, solution.get("/metrics").json.metrics)
  end)
end)
