describe("a parcel", function()
  it("has the shocks of its last week", function()
    local parcel, other = lab.device("p-1"), lab.device("p-2")
    parcel:write{shock = 9.5}
    lab.advance{days = 8}
    for _, shock in ipairs({1.5, 4, 2}) do
      parcel:write{shock = shock}
      other:write{shock = 8}
      lab.advance(60)
    end
    local found = solution.get("/parcels/p-1").json
    assert.are.equal("yes", found.ready)
    assert.are.equal(3, #found.shocks)
    assert.are.equal(2, found.shocks[1][2])
    assert.are.equal(4, found.highest)
    assert.are.equal(400, solution.get("/parcels/a'b").status)
  end)
end)
