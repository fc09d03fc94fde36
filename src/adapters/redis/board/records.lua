local found = {}
for name, text in pairs(fields(records)) do
  local stamp, record = string.match(text, '^(%S+) (.*)$')
  if string.sub(name, 1, 2) ~= 'b:' then
    if tonumber(stamp) < at - DAY then redis.call('HDEL', records, name)
    else found[#found + 1] = {name, record} end
  end
end
return cjson.encode({records = found})
