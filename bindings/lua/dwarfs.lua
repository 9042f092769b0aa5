-- SPDX-License-Identifier: MIT
--
-- Read and write DwarFS images.
--
--     local dwarfs = require "dwarfs"
--     dwarfs.pack("photos", "photos.dwarfs", {include = function(path) return not path:find("~$") end})
--     local image <close> = dwarfs.open("photos.dwarfs")
--     for path in image:walk() do print(path, image:stat(path).size) end
--     for line in image:lines("notes.txt") do print(line) end
--     image:extract("copy")
--     image:export("photos.tar.zst")
--     dwarfs.pack({"photos.dwarfs", "more.tar"}, "all.dwarfs")
--     for _, difference in ipairs(dwarfs.compare(image, "copy")) do print(difference.path) end
--     dwarfs.rewrite("photos.dwarfs", "small.dwarfs", {level = 9})
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
	if path == nil then error("a path is needed", 2) end
	return new_image(native.dwarfs_image_open(nil, path, nil))
end

-- An image in a string, which is copied.
function dwarfs.open_bytes(bytes)
	local io <close> = native.dwarfs_script_io(bytes)
	return new_image(native.dwarfs_image_open_io(nil, io, nil))
end

-- -- operations ------------------------------------------------------------------------------

-- Refuse options that do not exist or have a wrong type. A list may be given as one string.
local function check_options(options, wanted)
	for name, value in pairs(options or {}) do
		local kind = wanted[name] or error(("unknown option '%s'"):format(name), 3)
		if type(value) ~= kind and not (kind == "table" and type(value) == "string") then
			error(("option '%s': %s expected, got %s"):format(name, kind, type(value)), 3)
		end
		if kind == "number" and (math.tointeger(value) or -1) < 0 then
			error(("option '%s': a whole number from 0 on expected, got %s"):format(name, value), 3)
		end
	end
	return options or {}
end

-- The types of options: of one operation, with those of all.
local function with_run_options(wanted)
	wanted.progress, wanted.cancel = "function", "function"
	return wanted
end

local function with_builder_options(wanted)
	for _, name in ipairs {"level", "block_bits"} do wanted[name] = "number" end
	for _, name in ipairs {"order", "compression"} do wanted[name] = "string" end
	for _, name in ipairs {"overwrite", "xattrs"} do wanted[name] = "boolean" end
	return with_run_options(wanted)
end

local function list(value) return type(value) == "table" and value or {value} end

-- A task with the callbacks of options.
local function new_task(options)
	local progress, cancel = options.progress, options.cancel
	local task = native.dwarfs_task_new()
	native.dwarfs_task_set_progress(task, function(now)
		if cancel and cancel() then return native.DWARFS_ERR_CANCELLED end
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
	return task
end

local function new_builder(options, task)
	local include, cancel = options.include, options.cancel
	local builder = native.dwarfs_builder_new(nil)
	native.dwarfs_builder_set_task(builder, task)
	native.dwarfs_builder_set_include(builder, function(input)
		if cancel and cancel() then return native.DWARFS_ERR_CANCELLED end
		if not include then return 1 end
		return include(native.dwarfs_input_path(input), native.dwarfs_input_mode(input),
			native.dwarfs_input_bytes(input)) and 1 or 0
	end)
	if options.level then native.dwarfs_builder_set_level(builder, options.level) end
	if options.block_bits then native.dwarfs_builder_set_block_bits(builder, options.block_bits) end
	if options.order then native.dwarfs_builder_set_order(builder, options.order) end
	if options.xattrs ~= nil then native.dwarfs_builder_set_xattrs(builder, options.xattrs) end
	if options.compression then
		native.dwarfs_builder_set_codec(builder, native.DWARFS_CODEC_BLOCKS, options.compression)
	end
	return builder
end

local function is_image(value) return getmetatable(value) == image_class end

-- A path is a string; a table that is not an image would be one by mistake.
local function path_of(value)
	if type(value) ~= "string" then
		error(("a path or an image expected, got %s"):format(type(value)), 3)
	end
	return value
end

local PACK_OPTIONS = with_builder_options {include = "function"}

-- Make an image of a directory, an image or an archive (tar, cpio, zip and others), or of a list
-- of them: later ones replace entries of earlier ones. Each is a path or an open image; the blocks
-- of images are copied as they are stored.
--
-- Options: include is called with a path, a mode and a size, and says whether to include it;
-- progress is called with a table; cancel is called with each entry and report, and says whether
-- to stop. An error in these ends the run, leaves no image, and is raised. level is 0 to 9;
-- block_bits, order and compression are as for mkdwarfs; xattrs keeps extended attributes;
-- overwrite replaces the output.
function dwarfs.pack(input, output, options)
	options = check_options(options, PACK_OPTIONS)
	local inputs = is_image(input) and {input} or list(input)
	local task <close> = new_task(options)
	local builder <close> = new_builder(options, task)
	for i = 1, math.max(#inputs, 1) do
		if is_image(inputs[i]) then
			native.dwarfs_builder_add_image(builder, inputs[i].handle, "", native.DWARFS_KEEP_BLOCKS)
		else
			native.dwarfs_composed_add_path(builder, path_of(inputs[i]), #inputs == 1, task)
		end
	end
	native.dwarfs_builder_write_path(builder, output, options.overwrite or false)
end

local REWRITE_OPTIONS = with_builder_options {blocks = "boolean", metadata = "boolean",
	rebuild = "boolean", change_block_size = "boolean", categories = "string"}

-- Write an image anew, with the same files: a path or an open image; the output may be its file. A
-- header is kept. Options are those of pack, but for include, and: blocks and metadata, unless
-- false, are compressed again; rebuild makes the metadata anew, so that options of attributes
-- apply; change_block_size gives all blocks the size of block_bits, and rebuilds; categories
-- chooses blocks by the names of their categories, with commas between them, or with "!" in front
-- all others.
function dwarfs.rewrite(source, output, options)
	options = check_options(options, REWRITE_OPTIONS)
	local opened <close> = not is_image(source) and dwarfs.open(path_of(source)) or nil
	local image = (opened or source).handle
	local resize, parts = options.change_block_size, 0
	if options.blocks ~= false or resize then parts = parts | native.DWARFS_REWRITE_BLOCKS end
	if options.metadata ~= false then parts = parts | native.DWARFS_REWRITE_METADATA end
	if options.rebuild or resize then parts = parts | native.DWARFS_REWRITE_REBUILD end
	if resize then parts = parts | native.DWARFS_REWRITE_BLOCK_SIZE end
	local task <close> = new_task(options)
	local builder <close> = new_builder(options, task)
	native.dwarfs_composed_keep_header(builder, image)
	native.dwarfs_builder_set_recompress_categories(builder, options.categories)
	local sink <close> = native.dwarfs_sink_open(output, options.overwrite or false)
	native.dwarfs_rewrite(image, parts, builder, sink)
end

-- The numbers of the kinds of differences by their words.
local function kinds_of_differences()
	local kinds = {}
	for kind = 0, native.DWARFS_DIFFERENCE_KINDS - 1 do
		kinds[native.dwarfs_difference_word(kind)] = kind
	end
	return kinds
end

local function set_side(compare, side, tree)
	if is_image(tree) then
		native.dwarfs_compare_set_image(compare, side, tree.handle)
	else
		native.dwarfs_compare_set_path(compare, side, path_of(tree), nil)
	end
end

local COMPARE_OPTIONS = with_run_options {ignore = "table", time_resolution_ns = "number"}

-- The differences between two trees, a list that is empty when they agree. Each is an open image,
-- or the path of an image, a directory or an archive. A difference is a table: kind is a word such
-- as "mode" or "only-a", or "trouble" for what cannot be read; path; name of an extended attribute;
-- a and b are what both sides have. Options: ignore is a list of kinds that are not reported;
-- times are compared in seconds, unless time_resolution_ns is given; progress and cancel.
function dwarfs.compare(a, b, options)
	options = check_options(options, COMPARE_OPTIONS)
	local kinds, found = kinds_of_differences(), {}
	local task <close> = new_task(options)
	local compare <close> = native.dwarfs_compare_new(nil)
	native.dwarfs_compare_set_task(compare, task)
	set_side(compare, native.DWARFS_COMPARE_A, a)
	set_side(compare, native.DWARFS_COMPARE_B, b)
	for _, word in ipairs(list(options.ignore)) do
		local kind = kinds[word] or error(("not a kind of difference: %s"):format(word), 2)
		native.dwarfs_compare_ignore(compare, kind)
	end
	if options.time_resolution_ns then
		native.dwarfs_compare_set_time_resolution(compare, options.time_resolution_ns)
	end
	native.dwarfs_compare_run(compare, function(difference)
		found[#found + 1] = {
			kind = native.dwarfs_difference_word(native.dwarfs_difference_kind(difference)),
			path = native.dwarfs_difference_path(difference),
			name = native.dwarfs_difference_name(difference),
			a = native.dwarfs_composed_value(difference, native.DWARFS_COMPARE_A),
			b = native.dwarfs_composed_value(difference, native.DWARFS_COMPARE_B),
		}
		return 0
	end)
	return found
end

local function with_output_options(wanted)
	for _, name in ipairs {"skip_devices", "skip_specials", "xattrs", "continue_on_error"} do
		wanted[name] = "boolean"
	end
	wanted.patterns, wanted.uid, wanted.gid = "table", "number", "number"
	return with_run_options(wanted)
end

-- Options that an extraction and an export have: prefix is that of the functions.
local function set_output_options(handle, prefix, options, task)
	for _, pattern in ipairs(list(options.patterns)) do
		native[prefix .. "_add_pattern"](handle, pattern)
	end
	for _, name in ipairs {"uid", "gid", "xattrs", "skip_devices", "skip_specials", "continue_on_error"} do
		if options[name] ~= nil then native[prefix .. "_set_" .. name](handle, options[name]) end
	end
	native[prefix .. "_set_task"](handle, task)
end

local EXTRACT_OPTIONS = with_output_options {owners = "boolean", writers = "number"}

-- Extract to a directory, which is created if it is missing. Nothing is overwritten: an entry that
-- exists is an error. Options: with patterns, such as "src/**/*.c" or "doc/", only what matches
-- one of them is extracted, with all below it. owners says whether to set them (by default when
-- the process is privileged), uid and gid set one for all; xattrs = false, skip_devices and
-- skip_specials leave things out; writers is how many more threads write. It stops at the first
-- entry that cannot be written, or with continue_on_error raises its error at the end. progress and
-- cancel are as for dwarfs.pack.
function Image:extract(directory, options)
	options = check_options(options, EXTRACT_OPTIONS)
	local task <close> = new_task(options)
	local extract <close> = native.dwarfs_extract_new(self.handle)
	set_output_options(extract, "dwarfs_extract", options, task)
	if options.owners ~= nil then native.dwarfs_extract_set_owners(extract, options.owners) end
	if options.writers then native.dwarfs_extract_set_writers(extract, options.writers) end
	native.dwarfs_extract_to_directory(extract, directory)
end

local EXPORT_OPTIONS = with_output_options {format = "string", filters = "table", settings = "string",
	tree_order = "boolean", allow_huge_holes = "boolean"}

-- Write an archive, which replaces an existing file when it is complete. Options: format is "auto"
-- by default, that of the suffix of the path, such as ".tar.zst" or ".zip"; others are "tar",
-- "newc", "zip" and what libarchive has. filters are such as "zstd"; settings are those of
-- libarchive, such as "compression-level=19". Files are in the order of their data, or with
-- tree_order below their directory. allow_huge_holes writes holes as zeros whatever their size.
-- Others are as for extract; with continue_on_error the archive lacks what has failed.
function Image:export(path, options)
	options = check_options(options, EXPORT_OPTIONS)
	local task <close> = new_task(options)
	local export <close> = native.dwarfs_archive_export_new(self.handle)
	set_output_options(export, "dwarfs_archive_export", options, task)
	native.dwarfs_archive_export_set_format(export, options.format or "auto")
	native.dwarfs_archive_export_set_filters(export, table.concat(list(options.filters), ","))
	native.dwarfs_archive_export_set_options(export, options.settings)
	native.dwarfs_archive_export_set_order(export,
		options.tree_order and native.DWARFS_WALK_TREE or native.DWARFS_WALK_DATA)
	native.dwarfs_archive_export_set_allow_huge_holes(export, options.allow_huge_holes or false)
	native.dwarfs_archive_export_to_path(export, path)
end

-- -- images ----------------------------------------------------------------------------------

-- The number of an entry. Links in the directories of a path are followed, with the image as root
-- file system; one that is the last name only if that is asked for.
local function find(image, path, follow)
	if path == nil then error("a path is needed", 3) end
	local look_up = follow and native.dwarfs_find_followed or native.dwarfs_script_find
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

-- Errors that say that nothing is at a path; the last is that of links in a circle.
local MISSING = {[native.DWARFS_ERR_NOT_FOUND] = true, [native.DWARFS_ERR_NOT_DIR] = true,
	[native.DWARFS_ERR_INVALID] = true}

-- Whether there is something at a path; a link that leads nowhere does not exist.
function Image:exists(path)
	self:size()
	if path == nil then error("a path is needed", 2) end
	local found, failure = pcall(find, self, path, true)
	if found then return true end
	local is_missing = getmetatable(failure) == dwarfs.Error and MISSING[failure.code]
	if is_missing and not tostring(path):find("\0", 1, true) then return false end
	error(failure, 0)
end

local DAMAGED = {[native.DWARFS_ERR_CORRUPT] = true, [native.DWARFS_ERR_CHECKSUM] = true}

-- Call a function for an entry. Its error has the path instead of the number of an inode. If the
-- image is damaged, the path of the error is that of the image.
local function call_for(path, call, ...)
	local results = table.pack(pcall(call, ...))
	if results[1] then return table.unpack(results, 2, results.n) end
	local failure = results[2]
	if getmetatable(failure) == dwarfs.Error
		and (not failure.path or DAMAGED[failure.code] and failure.path ~= path) then
		local message, count = failure.message:gsub("^inode %d+ is ", "is ")
		failure.message = ("'%s'%s %s"):format(path, count == 0 and ":" or "", message)
		failure.path = failure.path or path
	end
	error(failure, 0)
end

-- The names in a directory.
function Image:list(path)
	path = path or ""
	local first, count = call_for(path, native.dwarfs_dir_range, self.handle, inode(self, path, true))
	local names = {}
	for i = 1, count do names[i] = native.dwarfs_entry_name(self.handle, first + i - 1) end
	return names
end

-- For a loop over the paths of an entry and of all below it; the root's is empty. A link is not
-- followed.
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
	local handle = call_for(path, native.dwarfs_file_open, self.handle, inode(self, path, true))
	return setmetatable({handle = handle, position = 0, buffer = "", start = 0}, file_class)
end

-- All bytes of a file.
function Image:read(path)
	local file <close> = self:open(path)
	return call_for(path, file.read, file, "a")
end

function Image:readlink(path)
	return call_for(path, native.dwarfs_link_read, self.handle, inode(self, path))
end

local function xattrs(image, number)
	local found, index = {}, 0
	while true do
		local name, value = native.dwarfs_script_xattr(image.handle, number, index)
		if not name then return found end
		found[name], index = value, index + 1
	end
end

-- Extended attributes of what a path leads to: a table of names and values.
function Image:xattrs(path) return xattrs(self, inode(self, path, true)) end

-- The same, but of a link itself.
function Image:lxattrs(path) return xattrs(self, inode(self, path)) end

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

-- At most 200 characters that can be a number, as io reads them; nil if there are more.
local function read_number(file)
	local parts, is_long = {}, false
	local function accept(set)
		local data, from = ahead(file)
		local char = data:sub(from, from)
		if char == "" or not char:find(set) then return false end
		if #parts >= 200 then
			is_long = true
			return false
		end
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
	return not is_long and tonumber(table.concat(parts)) or nil
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
