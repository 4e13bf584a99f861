User.createRole({role_id = "owner", parameter = {{name = "sn"}}})
User.createPermission({method = "GET", end_point = "things/{sn}"})
User.addRolePerm({role_id = "owner", body = {{method = "GET", end_point = "things/{sn}"}}})
