-- applies the schedule where the service does not do so at once
Config.setParameters({service = "timer", parameters = {}})
