-- ARGV[2]: the batch's name. ARGV[3]: pairs of an hour and what was sent in it, as JSON.
begin(false)
if redis.call('HGET', CONTRIBUTED, terms.replica) ~= ARGV[2] then
  redis.call('HSET', CONTRIBUTED, terms.replica, ARGV[2])
  for _, pair in ipairs(cjson.decode(ARGV[3])) do count(pair[1] * HOUR, pair[2]) end
end
keepForAWhile()
return answer()
