for _, pause in ipairs(ask.pauses) do
  local ends = tonumber(redis.call('HGET', pauses, pause[1]) or '0')
  redis.call('HSET', pauses, pause[1], num(math.max(ends, at + pause[2])))
end
for _, name in ipairs(ask.resumed) do redis.call('HDEL', pauses, name) end
for _, record in ipairs(ask.records) do redis.call('HSET', records, record[1], num(at) .. ' ' .. record[2]) end
return cjson.encode({isDone = true})
