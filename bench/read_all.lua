-- SPDX-License-Identifier: MIT
--
-- What bench/bindings.py measures, in Lua:
--
--     read_all.lua TIMES LIST IMAGE
local dwarfs = require "dwarfs"

local times, list, path = tonumber(arg[1]), arg[2], arg[3]
local paths = {}
for line in io.lines(list) do paths[#paths + 1] = line end
io.stdout:setvbuf("line")

local function job(name, call)
	print("begin\tLua\t" .. name)
	io.read()
	print(("end\t%d\t%d"):format(call()))
end

local function read_all()
	local image <close> = dwarfs.open(path)
	local files, bytes = 0, 0
	for found in image:walk() do
		if image:lstat(found).type == "file" then
			files, bytes = files + 1, bytes + #image:read(found)
		end
	end
	return files, bytes
end

local function read_listed()
	local image <close> = dwarfs.open(path)
	local bytes = 0
	for _, found in ipairs(paths) do bytes = bytes + #image:read(found) end
	return #paths, bytes
end

local opened <close> = dwarfs.open(path)

local function stat_listed()
	local bytes = 0
	for _, found in ipairs(paths) do bytes = bytes + opened:stat(found).size end
	return #paths, bytes
end

for _ = 1, times do
	job("all", read_all)
	job("random", read_listed)
	job("stat", stat_listed)
end
