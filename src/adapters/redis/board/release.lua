for _, name in ipairs(ask.names) do
  if redis.call('HGET', holders, name) == session then
    local written = redis.call('HGET', starts, name)
    local was = written and cjson.decode(written)
    -- Whoever still waited has sent nothing, and passes its wait on.
    if was and was.earliest <= at then
      was.earliest = at + math.min(ask.leasesEndInMs[name] or was.cold, was.cold)
      was.sent = at
      redis.call('HSET', starts, name, cjson.encode(was))
    end
    set(name, '@' .. num(at))
  end
end
if ask.endsSession then
  redis.call('ZREM', sessions, session)
  redis.call('HDEL', members, session)
  local text = redis.call('HGET', parts, nameOf(session))
  local part = text and cjson.decode(text)
  if part and part.process == processOf(session) then
    part.seatUntil, part.restUntil = at, at
    redis.call('HSET', parts, nameOf(session), cjson.encode(part))
  end
end
return cjson.encode({isDone = true})
