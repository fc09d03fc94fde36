-- ARGV: retakes, inherits, then upstreams.
local retakes, inherits = ARGV[5] == '1', ARGV[6] == '1'
if not isAlive(session) then return {'lost', ms(now), place} end
if opensIn > 0 and not retakes then return {'settling', ms(now), place, ms(opensIn)} end
-- A former session of the same process no longer polls: the process knows that itself.
local process = string.match(session, '^(.*%.)')
local claimed = {}
local function take(upstream, unheld)
  local number = #claimed
  claimed[number + 1] = upstream
  claimed[number + 2] = unheld and ms(math.max(0, unheld)) or ''
end
for index = 7, #ARGV do
  local upstream = ARGV[index]
  local holder = redis.call('HGET', holders, upstream)
  if holder == session then
    take(upstream, 0)
  elseif not holder then
    set(upstream, session)
    take(upstream, nil)
  elseif string.sub(holder, 1, 1) == '@' then
    local unheld = now - tonumber(string.sub(holder, 2))
    set(upstream, session)
    -- As of sessions that ended. Longer ago, it had more likely left the config than been missed by anybody.
    take(upstream, unheld < 86400000 and unheld or nil)
  else
    local ends = endOf(holder)
    local isFormer = string.sub(holder, 1, #process) == process
    if isFormer or (inherits and (not ends or ends <= now)) then
      -- It may have polled until its last beat.
      set(upstream, session)
      take(upstream, ends and now - (ends - ttl) or nil)
    end
  end
end
return {'claimed', ms(now), place, claimed}
