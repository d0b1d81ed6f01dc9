-- What scripts of Redis have, and nothing else: a name that is misspelt is a global that is none.
std = 'lua51'
not_globals = {'print', 'io', 'os', 'package', 'module', 'dofile', 'loadfile', 'getfenv', 'setfenv', 'newproxy'}
read_globals = {'redis', 'struct', 'bit', 'cjson'}
max_line_length = false
