describe("a doorbell", function()
  local bell
  before_each(function()
    bell = lab.device("bell-1")
    solution.put("/people/+15550101")
    solution.put("/people/+15550102")
  end)

  it("calls each person, at most once a minute", function()
    lab.stub("Twilio", {postMessage = {sid = "1"}})
    bell:write{ring = 1}
    lab.advance(30)
    bell:write{ring = 1}
    assert.are.equal(2, #lab.calls("Twilio"))
    lab.advance(30)
    bell:write{ring = 1}
    assert.are.equal(4, #lab.calls("Twilio"))
    assert.is_nil(Keystore.get{key = "failed"}.value)
  end)

  it("counts what the vendor refuses", function()
    bell:write{ring = 1}
    assert.are.equal("2", tostring(Keystore.get{key = "failed"}.value))
  end)
end)
