-- SPDX-License-Identifier: MIT
--
-- Read and write DwarFS images.
--
--     local dwarfs = require "dwarfs"
--     dwarfs.pack("photos", "photos.dwarfs", {include = function(path) return not path:find("~$") end})
--     local image <close> = dwarfs.open("photos.dwarfs")
--     for path in image:walk() do print(path, image:stat(path).size) end
--     for line in image:lines("notes.txt") do print(line) end
--
-- Paths are strings of bytes, below the root of the image. What fails raises an error, a table
-- with code, message, path, offset and errno, whose metatable is dwarfs.Error; tostring() gives
-- the message. A closed object raises one when it is used. Images and files are closed when they
-- are collected, or at the end of the scope of a variable with <close>. Walks and files keep
-- their image open. Objects of one lua_State are of no use in another.
local native = require "dwarfs_native"

local dwarfs = {Error = native.Error, _VERSION = "dwarfs 0.1.0"}
local PIECE = 8192

-- How many handles of the library this lua_State has open.
dwarfs.handles = native.handles

-- Objects are tables with a userdata of the library, which frees itself once.
local function class(name, methods)
	local meta = {__index = methods, __name = "dwarfs." .. name}
	meta.__close = function(object) native.close(object.handle) end
	meta.__tostring = function(object)
		return ("dwarfs.%s (%p)"):format(name, object)
	end
	return meta
end

local Image, File = {}, {}
local image_class, file_class = class("Image", Image), class("File", File)

local function new_image(handle) return setmetatable({handle = handle}, image_class) end

-- An image in a file.
function dwarfs.open(path)
	return new_image(native.dwarfs_image_open(nil, path, nil))
end

-- An image in a string, which is copied.
function dwarfs.open_bytes(bytes)
	local io <close> = native.dwarfs_script_io(bytes)
	return new_image(native.dwarfs_image_open_io(nil, io, nil))
end

local PACK_OPTIONS = {include = "function", progress = "function", cancel = "function",
	level = "number", order = "string", compression = "string", overwrite = "boolean",
	xattrs = "boolean"}

-- Pack a directory. Options: include is called with a path, a mode and a size, and says whether to
-- include it; progress is called with a table; cancel is called with each entry and report, and
-- says whether to stop. An error in these ends the run, leaves no image, and is raised. level is 0
-- to 9; order and compression are as for mkdwarfs; xattrs keeps extended attributes; overwrite
-- replaces the output.
function dwarfs.pack(directory, output, options)
	options = options or {}
	for name, value in pairs(options) do
		local wanted = PACK_OPTIONS[name] or error(("unknown option '%s'"):format(name), 2)
		if type(value) ~= wanted then
			error(("option '%s': %s expected, got %s"):format(name, wanted, type(value)), 2)
		end
	end
	local include, progress, cancel = options.include, options.progress, options.cancel
	local cancelled = native.DWARFS_ERR_CANCELLED
	local task <close> = native.dwarfs_task_new()
	local builder <close> = native.dwarfs_builder_new(nil)
	native.dwarfs_task_set_progress(task, function(now)
		if cancel and cancel() then return cancelled end
		if progress then
			progress {
				phase = native.dwarfs_phase_name(native.dwarfs_progress_phase(now)),
				done_bytes = native.dwarfs_progress_number(now, native.DWARFS_PROGRESS_DONE_BYTES),
				total_bytes = native.dwarfs_progress_number(now, native.DWARFS_PROGRESS_TOTAL_BYTES),
				done_items = native.dwarfs_progress_number(now, native.DWARFS_PROGRESS_DONE_ITEMS),
			}
		end
		return 0
	end)
	native.dwarfs_builder_set_task(builder, task)
	native.dwarfs_builder_set_include(builder, function(input)
		if cancel and cancel() then return cancelled end
		if not include then return 1 end
		return include(native.dwarfs_input_path(input), native.dwarfs_input_mode(input),
			native.dwarfs_input_bytes(input)) and 1 or 0
	end)
	if options.level then native.dwarfs_builder_set_level(builder, options.level) end
	if options.order then native.dwarfs_builder_set_order(builder, options.order) end
	if options.xattrs ~= nil then native.dwarfs_builder_set_xattrs(builder, options.xattrs) end
	if options.compression then
		native.dwarfs_builder_set_codec(builder, native.DWARFS_CODEC_BLOCKS, options.compression)
	end
	native.dwarfs_builder_add_directory(builder, directory)
	native.dwarfs_builder_write_path(builder, output, options.overwrite or false)
end

-- -- images ----------------------------------------------------------------------------------

-- The number of an entry; links are followed if that is asked for.
local function find(image, path, follow)
	local look_up = follow and native.dwarfs_find_followed or native.dwarfs_find
	return look_up(image.handle, path)
end

local function inode(image, path, follow)
	return native.dwarfs_entry_inode(image.handle, find(image, path, follow))
end

local TYPES = {[0x1000] = "fifo", [0x2000] = "char device", [0x4000] = "directory",
	[0x6000] = "block device", [0x8000] = "file", [0xa000] = "link", [0xc000] = "socket"}

local function stat(image, entry)
	local s = {}
	s.inode, s.mode, s.uid, s.gid, s.size, s.nlink, s.mtime, s.mtime_ns, s.atime, s.atime_ns,
		s.ctime, s.ctime_ns = native.dwarfs_script_stat(image.handle, entry)
	s.type = TYPES[s.mode & 0xf000]
	return s
end

-- The attributes of what a path leads to: inode, type, mode, uid, gid, size, nlink, mtime, atime,
-- ctime, and the nanoseconds of these. type is "file", "directory", "link", "fifo", "socket",
-- "char device" or "block device".
function Image:stat(path) return stat(self, find(self, path, true)) end

-- The same, but of a link itself.
function Image:lstat(path) return stat(self, find(self, path)) end

function Image:exists(path)
	local found, failure = pcall(find, self, path)
	if found then return true end
	local code = getmetatable(failure) == dwarfs.Error and failure.code
	if code == native.DWARFS_ERR_NOT_FOUND or code == native.DWARFS_ERR_NOT_DIR then return false end
	error(failure, 0)
end

-- The names in a directory.
function Image:list(path)
	local first, count = native.dwarfs_dir_range(self.handle, inode(self, path or "", true))
	local names = {}
	for i = 1, count do names[i] = native.dwarfs_entry_name(self.handle, first + i - 1) end
	return names
end

-- For a loop over the paths of an entry and of all below it; the root's is empty.
function Image:walk(path)
	local prefix = (path or ""):gsub("/+", "/"):gsub("^/", ""):gsub("/$", "")
	local walk = native.dwarfs_walk_new(self.handle, find(self, prefix), native.DWARFS_WALK_TREE)
	local ended = false
	local function following()
		if ended then return nil end
		if not native.dwarfs_script_next(walk) then
			ended = true
			native.close(walk)
			return nil
		end
		local below = native.dwarfs_walk_path(walk)
		if prefix == "" then return below end
		return below == "" and prefix or prefix .. "/" .. below
	end
	return following, nil, nil, walk
end

-- A file, or what a link leads to.
function Image:open(path)
	local handle = native.dwarfs_file_open(self.handle, inode(self, path, true))
	return setmetatable({handle = handle, position = 0, buffer = "", start = 0}, file_class)
end

-- All bytes of a file.
function Image:read(path)
	local file <close> = self:open(path)
	return file:read("a")
end

function Image:readlink(path) return native.dwarfs_link_read(self.handle, inode(self, path)) end

-- Extended attributes: a table of names and values.
function Image:xattrs(path)
	local number, found, index = inode(self, path), {}, 0
	while true do
		local name, value = native.dwarfs_script_xattr(self.handle, number, index)
		if not name then return found end
		found[name], index = value, index + 1
	end
end

-- Verify all of it: returns 0, or raises the first error.
function Image:check()
	return native.dwarfs_image_check(self.handle, native.DWARFS_CHECK_INTEGRITY, nil, nil)
end

function Image:size() return native.dwarfs_image_bytes(self.handle) end

-- Returns true, also if it is closed.
function Image:close()
	native.close(self.handle)
	return true
end

-- -- files: as those of io -------------------------------------------------------------------

function File:size() return native.dwarfs_file_bytes(self.handle) end

-- Fewer bytes are read only at the end.
function File:pread(bytes, offset)
	local size = self:size()
	if bytes < 0 or offset < 0 then error("negative length or offset", 2) end
	if offset >= size then return "" end
	return native.dwarfs_script_read(self.handle, offset, math.min(bytes, size - offset))
end

-- A string, and where in it the position is; it has nothing there only at the end of the file.
local function ahead(file)
	local from = file.position - file.start
	if from < 0 or from >= #file.buffer then
		file.buffer, file.start, from = file:pread(PIECE, file.position), file.position, 0
	end
	return file.buffer, from + 1
end

local function read_line(file, keep_end)
	local parts, stop = {}, nil
	repeat
		local data, from = ahead(file)
		if data == "" then break end
		stop = data:find("\n", from, true)
		parts[#parts + 1] = data:sub(from, stop)
		file.position = file.position + #parts[#parts]
	until stop
	if #parts == 0 then return nil end
	local line = table.concat(parts)
	return (stop and not keep_end) and line:sub(1, -2) or line
end

-- At most 200 characters that can be a number, as io reads them.
local function read_number(file)
	local parts = {}
	local function accept(set)
		local data, from = ahead(file)
		local char = data:sub(from, from)
		if char == "" or not char:find(set) or #parts >= 200 then return false end
		parts[#parts + 1], file.position = char, file.position + 1
		return true
	end
	local function digits(set)
		local count = 0
		while accept(set) do count = count + 1 end
		return count
	end
	while accept("%s") do parts[1] = nil end
	accept("[+-]")
	local set, exponent, count = "%d", "[eE]", 0
	if accept("0") then
		if accept("[xX]") then set, exponent = "%x", "[pP]" else count = 1 end
	end
	count = count + digits(set)
	if accept("%.") then count = count + digits(set) end
	if count > 0 and accept(exponent) then
		accept("[+-]")
		digits("%d")
	end
	return tonumber(table.concat(parts))
end

local function read_bytes(file, bytes)
	local data = file:pread(bytes, file.position)
	file.position = file.position + #data
	return data
end

local FORMATS = {
	n = read_number,
	l = function(file) return read_line(file, false) end,
	L = function(file) return read_line(file, true) end,
	a = function(file) return read_bytes(file, file:size()) end,
}

local function read_one(file, format, index)
	local bytes = math.type(format) and math.tointeger(format)
	if bytes and bytes >= 0 then
		if bytes == 0 then return file.position < file:size() and "" or nil end
		local data = read_bytes(file, bytes)
		return data ~= "" and data or nil
	end
	local read = type(format) == "string" and FORMATS[format:match("^%*?(.)")]
	if not read then error(("bad argument #%d to 'read' (invalid format)"):format(index), 0) end
	return read(file)
end

-- Formats: "n", "l", "L", "a" or a number of bytes; "l" if there is none.
function File:read(...)
	self:size()
	local count, results = select("#", ...), {}
	if count == 0 then return read_line(self, false) end
	for i = 1, count do
		results[i] = read_one(self, (select(i, ...)), i)
		if results[i] == nil then return table.unpack(results, 1, i) end
	end
	return table.unpack(results, 1, count)
end

function File:lines(...)
	self:size()
	local formats = table.pack(...)
	return function() return self:read(table.unpack(formats, 1, formats.n)) end
end

-- The position from the start of the file, or nil, a message and a number.
function File:seek(whence, offset)
	local size, bytes = self:size(), math.tointeger(offset or 0)
	local from = ({set = 0, cur = self.position, ["end"] = size})[whence or "cur"]
	if not from then error(("bad argument #1 to 'seek' (invalid option '%s')"):format(whence), 2) end
	if not bytes then error("bad argument #2 to 'seek' (integer expected)", 2) end
	if from + bytes < 0 then return nil, "Invalid argument", 22 end
	self.position = from + bytes
	return self.position
end

-- Returns true; a file that is closed already is an error.
function File:close()
	self:size()
	native.close(self.handle)
	self.buffer = ""
	return true
end

-- The lines of a file, which is closed after the last one, and with the loop.
function Image:lines(path, ...)
	local file = self:open(path)
	local read = file:lines(...)
	local ended = false
	local function check(first, ...)
		if first == nil then
			ended = true
			file:close()
		end
		return first, ...
	end
	return function()
		if ended then return nil end
		return check(read())
	end, nil, nil, file
end

return dwarfs
