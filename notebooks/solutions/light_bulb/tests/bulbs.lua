describe("a light bulb", function()
  local bulb
  before_each(function() bulb = lab.device("b-1") end)

  it("is claimed once", function()
    local claim = {json = {email = "ann@example.com"}}
    assert.are.equal(404, solution.get("/bulbs/b-1").status)
    assert.are.equal(201, solution.post("/bulbs/b-1/owner", claim).status)
    assert.are.equal(409, solution.post("/bulbs/b-1/owner", claim).status)
    assert.are.same({owner = "ann@example.com", state = "off"}, solution.get("/bulbs/b-1").json)
  end)

  it("tells its owner after four hours, and once", function()
    solution.post("/bulbs/b-1/owner", {json = {email = "ann@example.com"}})
    bulb:write{power = "on"}
    lab.advance{hours = 3}
    assert.are.same({}, lab.mails())
    lab.advance{hours = 30}
    assert.are.equal(1, #lab.mails())
    assert.are.same({"ann@example.com"}, lab.mails()[1].to)
  end)

  it("is silent if it is switched off in time", function()
    solution.post("/bulbs/b-1/owner", {json = {email = "ann@example.com"}})
    bulb:write{power = "on"}
    lab.advance{hours = 3}
    bulb:write{power = "off"}
    lab.advance{hours = 3}
    assert.are.same({}, lab.mails())
  end)

  it("keeps its timer over a restart", function()
    solution.post("/bulbs/b-1/owner", {json = {email = "ann@example.com"}})
    bulb:write{power = "on"}
    lab.restart()
    lab.advance{hours = 5}
    assert.are.equal(1, #lab.mails())
  end)
end)
