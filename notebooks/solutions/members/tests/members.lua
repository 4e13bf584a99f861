describe("members", function()
  local ann = {name = "Ann", email = "ann@example.com", password = "correct horse 7"}
  before_each(function() assert.are.equal(201, solution.post("/members", {json = ann}).status) end)

  it("sign up once", function()
    assert.are.equal(400, solution.post("/members", {json = ann}).status)
  end)

  it("sign in and change their name", function()
    assert.are.equal(401, solution.post("/session", {json = {email = ann.email, password = "wrong"}}).status)
    local token = solution.post("/session", {json = ann}).json.token
    local headers = {Authorization = "Bearer " .. token}
    assert.are.same({name = "Anne"}, solution.put("/me", {headers = headers, json = {name = "Anne"}}).json)
    assert.are.equal(401, solution.put("/me", {json = {name = "Eve"}}).status)
    assert.are.equal(401, solution.put("/me", {headers = {Authorization = "Bearer x"}, json = {name = "Eve"}}).status)
  end)
end)
