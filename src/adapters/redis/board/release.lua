-- ARGV: ends the session, then upstreams.
for index = 6, #ARGV do
  if redis.call('HGET', holders, ARGV[index]) == session then set(ARGV[index], '@' .. ms(now)) end
end
if ARGV[5] == '1' then forget(session) end
return {'released', ms(now), place}
