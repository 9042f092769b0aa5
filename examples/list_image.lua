#!/usr/bin/env lua
-- SPDX-License-Identifier: MIT
--
-- Pack a directory without backup files, or list an image:
--
--     list_image.lua pack DIRECTORY IMAGE
--     list_image.lua list IMAGE
local dwarfs = require "dwarfs"

local function pack(directory, output)
	dwarfs.pack(directory, output, {
		level = 5,
		include = function(path) return not path:find("~$") end,
	})
end

local function list(path)
	local image <close> = dwarfs.open(path)
	for name in image:walk() do
		local stat = image:lstat(name)
		if stat.type == "file" then print(("%8d %s"):format(stat.size, name)) end
	end
end

local done, failure
if arg[1] == "pack" and #arg == 3 then
	done, failure = pcall(pack, arg[2], arg[3])
elseif arg[1] == "list" and #arg == 2 then
	done, failure = pcall(list, arg[2])
else
	failure = "usage: list_image.lua pack DIRECTORY IMAGE | list IMAGE"
end
if not done then
	io.stderr:write(tostring(failure), "\n")
	os.exit(1)
end
