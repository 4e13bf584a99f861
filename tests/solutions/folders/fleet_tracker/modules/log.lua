function note(text)
  Keystore.command({key = "notes", command = "lpush", args = {text}})
  Keystore.command({key = "notes", command = "ltrim", args = {0, 9}})
end
