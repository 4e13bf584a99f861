Timer.sendInterval({duration = 3600 * 1000, timer_id = "rounds", message = {task = "round"}})
Timer.schedule({schedule = {daily = true}, timer_id = "report", message = "report"})
