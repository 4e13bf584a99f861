--[[
  request.message   what was given when the timer was set
  request.timer_id
--]]
local jobs = require("jobs")
if request.timer_id == "schedule.daily" then
  jobs.begin()
elseif request.timer_id == "report" then
  jobs.report()
elseif type(request.message) == "table" then
  Scripts.trigger({event = request.message.task, data = {at = os.time()}, mode = "async"})
end
