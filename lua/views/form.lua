-- form: the form that the results of a queue must fit.   reads only
-- FLAGS  no-writes
-- KEYS   settings hash · form hash
-- ARGV   digest of the text that the caller knows ('' = none)
-- REPLY  {digest of its text, in hex ('' = the queue has none), its text ('' = the caller knows it)}
return function(q, args)
  local digest = redis.call('HGET', q.settings, 'result_schema_sha256') or ''
  return {digest, digest ~= args[1] and redis.call('HGET', q.form, 'text') or ''}
end
