-- SPDX-License-Identifier: MIT
--
-- The cases of test_scenarios.py in Lua. A second argument is how often to open and close, a
-- smaller number for a run under valgrind.
local dwarfs = require "dwarfs"
local native = require "dwarfs_native"

local FOLDER, TIMES = arg[1], tonumber(arg[2] or 10000)
local TREE, IMAGE, ODD = FOLDER .. "/tree", FOLDER .. "/x.dwarfs", "\xff\xfe"
io.stdout:setvbuf("line")

local function show(value)
	return type(value) == "string" and ("%q"):format(value) or tostring(value)
end

local function same(got, wanted)
	if got ~= wanted or math.type(got) ~= math.type(wanted) then
		error(show(got) .. ", not " .. show(wanted), 2)
	end
end

-- The error of a call.
local function fails(call, ...)
	local done, failure = pcall(call, ...)
	if done then error("nothing was raised", 2) end
	return failure
end

local function test(name, call)
	local done, failure = xpcall(call, function(e) return debug.traceback(tostring(e)) end)
	print(done and "ok " .. name or ("not ok " .. name .. ": " .. failure:gsub("\n", " ")))
end

local function slurp(path)
	local file <close> = assert(io.open(path, "rb"))
	return file:read("a")
end

local function spit(path, bytes)
	local file <close> = assert(io.open(path, "wb"))
	file:write(bytes)
end

local function exists(path)
	local file = io.open(path)
	if file then file:close() end
	return file ~= nil
end

local function resident() return tonumber(slurp("/proc/self/statm"):match("%d+ (%d+)")) * 4096 end

local function sorted(names)
	table.sort(names)
	return table.concat(names, " ")
end

local function walked(image, path)
	local paths = {}
	for found in image:walk(path) do paths[#paths + 1] = "[" .. found .. "]" end
	return sorted(paths)
end

local function yes() return true end

test("pack", function()
	dwarfs.pack(TREE, IMAGE, {level = 1, xattrs = true})
	same(fails(dwarfs.pack, TREE, IMAGE).code, -12)
	dwarfs.pack(TREE, IMAGE, {level = 1, xattrs = true, overwrite = true})
end)
test("callback chooses", function()
	local seen = {}
	dwarfs.pack(TREE, FOLDER .. "/c.dwarfs", {include = function(path, mode, size)
		seen[path] = ("%x %d"):format(mode & 0xf000, size)
		return not path:find("~$")
	end})
	same(seen["a.txt"], "8000 18")
	same(dwarfs.open(FOLDER .. "/c.dwarfs"):exists("skip~"), false)
end)
test("callback raises", function()
	local output, mine = FOLDER .. "/r.dwarfs", {}
	local calls = 0
	same(fails(dwarfs.pack, TREE, output, {include = function()
		calls = calls + 1
		error(mine)
	end}), mine)
	same(calls, 1)
	same(fails(dwarfs.pack, TREE, output, {progress = function() error("why", 0) end}), "why")
	same(fails(dwarfs.pack, TREE, output, {include = function() error() end}), nil)
	local yields = coroutine.create(dwarfs.pack)
	local done, failure = coroutine.resume(yields, TREE, output, {include = coroutine.yield})
	same(done, false)
	same(failure:find("yield") ~= nil, true)
	-- A failure in a callback is not that of the call around it.
	dwarfs.pack(TREE, output, {include = function()
		same(fails(dwarfs.pack, TREE, output .. "2", {include = function() error("inner", 0) end}),
			"inner")
		return coroutine.wrap(function() return dwarfs.open(IMAGE):exists("a.txt") end)()
	end})
	same(dwarfs.open(output):exists("skip~"), true)
	same(exists(output .. "2"), false)
end)
test("progress", function()
	local last
	dwarfs.pack(TREE, FOLDER .. "/p.dwarfs", {progress = function(now) last = now end})
	same(last.phase, "done")
	same(last.done_bytes, last.total_bytes)
	same(last.done_bytes > 256000, true)
end)
test("cancel", function() -- Lua has no threads: from a callback
	local cancel = false
	local failure = fails(dwarfs.pack, TREE, FOLDER .. "/k.dwarfs", {
		cancel = function() return cancel end,
		progress = function() cancel = true end,
	})
	same(failure.code, -15)
	same(exists(FOLDER .. "/k.dwarfs"), false)
end)

local image
test("open path", function()
	image = dwarfs.open(IMAGE)
	same(image:check(), 0)
	same(image:size(), #slurp(IMAGE))
end)
test("open bytes", function()
	local copy <close> = dwarfs.open_bytes(slurp(IMAGE))
	collectgarbage()
	same(copy:read("a.txt"), "first\nsecond\nthird")
end)
test("stat", function()
	local stat = image:stat("a.txt")
	same(stat.size, 18)
	same(stat.type, "file")
	local pipe <close> = assert(io.popen(("stat -c '%%f %%u %%g %%Y' '%s/a.txt'"):format(TREE)))
	same(("%x %d %d %d"):format(stat.mode, stat.uid, stat.gid, stat.mtime), pipe:read())
	same(image:stat("link").size, 256000)
	same(image:lstat("link").type, "link")
	same(image:stat("").type, "directory")
end)
test("list", function()
	same(sorted(image:list()), "a.txt link skip~ sub " .. ODD)
	same(sorted(image:list("sub")), "b.bin")
	same(fails(image.list, image, "a.txt").code, -10)
end)
test("walk", function()
	same(walked(image), "[] [a.txt] [link] [skip~] [sub/b.bin] [sub] [" .. ODD .. "]")
	same(walked(image, "sub"), "[sub/b.bin] [sub]")
	same(walked(image, "//sub/"), "[sub/b.bin] [sub]")
	local before = dwarfs.handles()
	for _ in image:walk() do
		same(dwarfs.handles(), before + 1)
		break
	end
	same(dwarfs.handles(), before)
	local following = image:walk("a.txt")
	same(following(), "a.txt")
	same(following(), nil)
	same(following(), nil)
end)
test("bytes in names", function()
	same(image:read(ODD), "bytes")
	same(image:exists(ODD .. "\xfd"), false)
	same(image:exists("a.txt/x"), false)
	same(fails(image.exists, image, "a.txt\0").code, -2)
	same(image:exists(5), false)
	same(fails(image.exists, image):match("a path is needed"), "a path is needed")
	fails(dwarfs.open, IMAGE .. "\0")
end)
test("pread", function()
	local file <close> = image:open("sub/b.bin")
	same(file:pread(3, 255), "\xff\x00\x01")
	same(#file:pread(1 << 40, 255990), 10)
	same(file:pread(1, 1 << 40), "")
	same(file:pread(0, 0), "")
	fails(file.pread, file, -1, 0)
	for _, bad in ipairs {-1, math.mininteger, -1e300, 0 / 0, 0.5, "x", {}} do
		fails(file.pread, file, bad, 0)
		fails(file.pread, file, 1, bad)
		fails(file.read, file, bad)
		fails(native.dwarfs_entry_name, image.handle, bad)
	end
	fails(native.dwarfs_entry_name, image.handle, 1 << 32)
end)
test("seek", function()
	local file <close> = image:open("sub/b.bin")
	same(file:seek("end", -2), 255998)
	same(file:read(10), "\xfe\xff")
	same(file:read(1), nil)
	same(file:read(0), nil)
	same(file:read("a"), "")
	same(file:read(), nil)
	local position, message, number = file:seek("set", -1)
	same(position, nil)
	same(message .. number, "Invalid argument22")
	same(file:seek(), 256000)
	same(file:seek("set", 300000), 300000)
	same(file:read("a"), "")
	same(file:seek("set", 1.0), 1)
	same(file:seek("cur", 1), 2)
	same(file:read(0), "")
	same(file:read(1, 1.0), "\2")
	same(file:seek(), 4)
	fails(file.seek, file, "middle")
	fails(file.seek, file, "set", 0.5)
end)
-- Numbers are read as io reads them.
local function check_numbers()
	local text = " 12 -0x1p4 1e3x .5 nan 0x 7 " .. ("9"):rep(200) .. " " .. ("9"):rep(210) .. " 8"
	spit(TREE .. "/numbers", text)
	dwarfs.pack(TREE, FOLDER .. "/n.dwarfs")
	os.remove(TREE .. "/numbers")
	local numbers <close> = dwarfs.open(FOLDER .. "/n.dwarfs")
	local file <close> = numbers:open("numbers")
	local plain <close> = io.tmpfile()
	plain:write(text)
	plain:seek("set")
	for _ = 1, 16 do
		same(file:read("n"), (plain:read("n")))
		same(file:seek(), plain:seek())
		same(file:read(1), plain:read(1))
	end
end

test("lines", function()
	check_numbers()
	local file <close> = image:open("a.txt")
	same(file:read("L"), "first\n")
	same(file:read(3), "sec")
	same(file:read("*l"), "ond")
	same(select("#", file:read("l", "l", "l")), 2)
	file:seek("set")
	same(table.concat({file:read("l", 2, "a")}, "|"), "first|se|cond\nthird")
	fails(file.read, file, "x")
	fails(file.read, file, -1)
	file:seek("set")
	local lines = {}
	for line in file:lines("L") do lines[#lines + 1] = line end
	same(table.concat(lines, "|"), "first\n|second\n|third")
	local before, bytes = dwarfs.handles(), 0
	for line in image:lines("sub/b.bin", "L") do bytes = bytes + #line end
	same(bytes, 256000)
	for _ in image:lines("a.txt") do break end
	same(dwarfs.handles(), before)
end)
test("xattr", function()
	same(image:xattrs("a.txt")["user.note"], "v\0w")
	same(image:xattrs("sub")["user.note"], nil)
end)
test("link target", function()
	same(image:readlink("link"), "sub/b.bin")
	same(image:open("link"):size(), 256000)
	same(fails(image.readlink, image, "sub").code, -2)
end)
test("links", function()
	dwarfs.pack(FOLDER .. "/links", FOLDER .. "/l.dwarfs")
	local links <close> = dwarfs.open(FOLDER .. "/l.dwarfs")
	for _, path in ipairs {"through/file", "through/../through/file", "through/up", "absolute"} do
		same(links:read(path), "text")
		same(links:stat(path).size, 4)
		same(links:exists(path), true)
	end
	for _, path in ipairs {"through", "through/up", "absolute", "dangling", "circle"} do
		same(links:lstat(path).type, "link")
	end
	same(links:lstat("through/file").type, "file")
	same(links:stat("through").type, "directory")
	same(links:readlink("through/up"), "../dir/file")
	same(#links:list("through"), 2)
	same(next(links:xattrs("through/up")), nil)
	same(next(links:lxattrs("through/up")), nil)
	for path in links:walk("through/file") do same(path, "through/file") end
	for _, path in ipairs {"dangling", "circle", "through/none", "dir/file/none"} do
		same(links:exists(path), false)
	end
	local failure = fails(links.lstat, links, "through/none")
	same(failure.code, -9)
	same(failure.path, "through/none")
	fails(links.stat, links, nil)
	fails(links.lstat, links, nil)
end)
test("missing file", function()
	for _, case in ipairs {{"read", "sub", "'sub' is a directory"},
		{"list", "a.txt", "'a.txt' is not a directory"},
		{"readlink", "a.txt", "'a.txt' is not a link"}} do
		local wrong = fails(image[case[1]], image, case[2])
		same(wrong.path, case[2])
		same(wrong.message, case[3])
	end
	local failure = fails(image.open, image, "sub/none")
	same(failure.message, "'sub/none' does not exist")
	same(getmetatable(failure), dwarfs.Error)
	same(failure.code, -9)
	same(failure.path, "sub/none")
	same(tostring(failure), failure.message)
	same(failure.message:find("none") ~= nil, true)
	same(fails(dwarfs.open, FOLDER .. "/none").errno, 2)
end)
test("not an image", function()
	same(fails(dwarfs.open, TREE .. "/a.txt").code, -7)
	same(fails(dwarfs.open_bytes, "").code, -7)
end)
test("damaged image", function()
	local bytes, path = slurp(IMAGE), FOLDER .. "/d.dwarfs"
	spit(path, bytes:sub(1, 80) .. string.char(bytes:byte(81) ~ 1) .. bytes:sub(82))
	local damaged <close> = dwarfs.open(path)
	local failure = fails(damaged.read, damaged, "sub/b.bin")
	same(failure.code, -6)
	same(failure.offset, 0)
	same(failure.path, path)
	same(failure.message:find("'sub/b.bin': ", 1, true), 1)
	same(fails(damaged.check, damaged).code, -6)
	spit(path, bytes:sub(1, -2))
	failure = fails(dwarfs.open, path)
	same(failure.code, -5)
	same(failure.path, path)
	same(failure.offset > 0, true)
end)
test("extract", function()
	local copy = FOLDER .. "/extracted"
	image:extract(copy, {patterns = "sub/", xattrs = false})
	same(exists(copy .. "/a.txt"), false)
	same(#slurp(copy .. "/sub/b.bin"), 256000)
	local failure = fails(image.extract, image, copy, {patterns = {"sub/"}})
	same(failure.code, -12)
	same(failure.path:find("sub/b.bin$") ~= nil, true)
	local last
	image:extract(copy .. "2", {continue_on_error = true, progress = function(now) last = now end})
	same(last.phase, "done")
	same(#dwarfs.compare(image, copy .. "2"), 0)
	local mine = {}
	same(fails(image.extract, image, copy .. "3", {progress = function() error(mine) end}), mine)
	same(fails(image.extract, image, copy .. "4", {cancel = yes}).code, -15)
	same(fails(image.extract, image, copy .. "5", {patterns = {"["}}).code, -2)
	same(fails(image.extract, image, FOLDER .. "/no/copy").code, -9)
	fails(image.extract, image, {})
	fails(image.extract, image, copy, {no_option = 1})
	fails(image.extract, image, copy, {owners = 1})
end)
test("export", function()
	local tar, stopped = FOLDER .. "/x.tar", FOLDER .. "/k.tar"
	image:export(tar, {format = "ustar", filters = {"gzip"}, patterns = {"sub/"}, tree_order = true,
		xattrs = false, settings = ""})
	same(slurp(tar):sub(1, 2), "\x1f\x8b")
	image:export(tar)
	same(slurp(tar):find("ustar", 1, true) ~= nil, true)
	same(fails(image.export, image, FOLDER .. "/x.unknown").code, -2)
	same(fails(image.export, image, tar, {format = "none"}).code, -2)
	same(fails(image.export, image, stopped, {cancel = yes}).code, -15)
	same(fails(image.export, image, stopped, {progress = function() error("why", 0) end}), "why")
	same(exists(stopped), false)
	fails(image.export, image, {})
end)
test("import", function()
	local tar, imported, none = FOLDER .. "/x.tar", FOLDER .. "/i.dwarfs", FOLDER .. "/w.dwarfs"
	local phases = {}
	dwarfs.pack(tar, imported, {level = 1, progress = function(now) phases[now.phase] = true end})
	same(phases.reading, true)
	same(#dwarfs.compare(IMAGE, imported), 0)
	os.execute("mkdir " .. FOLDER .. "/more")
	spit(FOLDER .. "/more/a.txt", "other")
	dwarfs.pack({tar, image, FOLDER .. "/c.dwarfs", FOLDER .. "/more"}, imported, {overwrite = true})
	local merged <close> = dwarfs.open(imported)
	same(merged:read("a.txt"), "other")
	same(merged:read("skip~"), "old")
	same(#merged:list(), 5)
	same(fails(dwarfs.pack, TREE .. "/a.txt", none).code, -8)
	same(fails(dwarfs.pack, {tar, FOLDER .. "/none"}, none).code, -9)
	same(fails(dwarfs.pack, tar, none, {cancel = yes}).code, -15)
	same(fails(dwarfs.pack, tar, none, {progress = function() error("why", 0) end}), "why")
	fails(dwarfs.pack, {}, none)
	fails(dwarfs.pack, {5}, none)
	fails(dwarfs.pack, nil, none)
	same(exists(none), false)
end)
test("compare", function()
	same(#dwarfs.compare(image, TREE, {ignore = "mtime"}), 0)
	local sizes = {}
	for _, found in ipairs(dwarfs.compare(image, FOLDER .. "/i.dwarfs", {ignore = {"mtime", "xattr"}})) do
		if found.kind == "size" then
			sizes[#sizes + 1] = ("%s %s %s %s"):format(found.path, found.name, found.a, found.b)
		end
	end
	same(table.concat(sizes, "|"), "a.txt nil 18 5")
	local found = dwarfs.compare(IMAGE, FOLDER .. "/c.dwarfs", {ignore = "mtime"})
	same(found[1].kind .. found[1].path, "only-askip~")
	same(#dwarfs.compare(image, image, {time_resolution_ns = 1}), 0)
	same(fails(dwarfs.compare, image, FOLDER .. "/none").code, -9)
	same(fails(dwarfs.compare, image, TREE, {cancel = yes}).code, -15)
	fails(dwarfs.compare, image, TREE, {ignore = "nothing"})
	fails(dwarfs.compare, nil, image)
	fails(dwarfs.compare, image)
end)
test("rewrite", function()
	local output, none, count = FOLDER .. "/rewritten.dwarfs", FOLDER .. "/w.dwarfs", 0
	dwarfs.rewrite(image, output, {compression = "null", progress = function() count = count + 1 end})
	same(count > 0, true)
	same(#dwarfs.compare(IMAGE, output), 0)
	local before = #slurp(output)
	dwarfs.rewrite(output, output,
		{level = 5, block_bits = 16, change_block_size = true, overwrite = true})
	same(#slurp(output) < before, true)
	same(#dwarfs.compare(IMAGE, output), 0)
	spit(FOLDER .. "/header.dwarfs", "#!/bin/sh\n" .. slurp(output))
	dwarfs.rewrite(FOLDER .. "/header.dwarfs", output, {blocks = false, overwrite = true})
	same(slurp(output):sub(1, 16), "#!/bin/sh\nDWARFS")
	same(fails(dwarfs.rewrite, image, output).code, -12)
	same(fails(dwarfs.rewrite, image, none, {categories = "none"}).code, -2)
	same(fails(dwarfs.rewrite, image, none, {cancel = yes}).code, -15)
	same(fails(dwarfs.rewrite, TREE .. "/a.txt", none).code, -7)
	fails(dwarfs.rewrite, image, none, {no_option = 1})
	fails(dwarfs.rewrite, nil, none)
	same(exists(none), false)
end)
test("wrong type", function()
	local file <close> = image:open("a.txt")
	for _, wrong in ipairs {file.handle, "text", 5, true, io.stdout, {}} do
		fails(native.dwarfs_image_bytes, wrong)
	end
	fails(native.dwarfs_image_bytes, nil)
	fails(native.dwarfs_image_bytes)
	fails(native.dwarfs_image_bytes, image.handle, image.handle)
	fails(native.close, io.stdout)
	fails(native.dwarfs_builder_set_include, native.dwarfs_builder_new(nil), "text")
	fails(native.dwarfs_script_read, file.handle, -1, 1)
	fails(native.dwarfs_script_read, file.handle, 0, 1.5)
	fails(dwarfs.pack, TREE, FOLDER .. "/w.dwarfs", {no_option = 1})
	fails(dwarfs.pack, TREE, FOLDER .. "/w.dwarfs", {level = "1"})
	for _, value in ipairs {2.5, -1} do
		same(fails(dwarfs.pack, TREE, FOLDER .. "/w.dwarfs", {level = value}):match("option.*"),
			"option 'level': a whole number from 0 on expected, got " .. value)
	end
	same(fails(dwarfs.open, nil):match("a path.*"), "a path is needed")
	same(fails(image.open, image, nil):match("a path.*"), "a path is needed")
	fails(dwarfs.open, {})
	fails(dwarfs.open, nil)
	for _, wrong in ipairs {io.stdout, image.handle, coroutine.create(print)} do
		local got = wrong == image.handle and "dwarfs handle" or type(wrong)
		same(fails(native.dwarfs_codec_help, wrong):match("got '(.*)'"), got)
		for _, call in ipairs {dwarfs.open, dwarfs.open_bytes, function(value)
			return image:stat(value)
		end} do
			same(fails(call, wrong):match("string expected") ~= nil, true)
		end
		fails(dwarfs.pack, wrong, FOLDER .. "/w.dwarfs")
		fails(dwarfs.pack, TREE, wrong)
	end
	same(fails(native.dwarfs_script_stat, image.handle, 1 << 30).code, -3)
	fails(native.dwarfs_script_stat, image.handle, 1 << 32)
	same(rawget(_G, "swig_type"), nil)
end)
test("use after close", function()
	local closed = dwarfs.open(IMAGE)
	local file, lines = closed:open("a.txt"), closed:open("a.txt"):lines()
	file:read(1)
	same(closed:close(), true)
	same(closed:close(), true)
	same(file:read(4), "irst")
	same(file:close(), true)
	same(fails(closed.list, closed).message, "the image is closed")
	for _, name in ipairs {"stat", "lstat", "exists", "list", "walk", "open", "read", "readlink",
		"xattrs", "lines", "check", "size", "extract", "export"} do
		same(fails(closed[name], closed, "a.txt").code, -2)
	end
	same(fails(dwarfs.compare, TREE, closed).code, -2)
	same(fails(dwarfs.pack, {TREE, closed}, FOLDER .. "/w.dwarfs").code, -2)
	same(fails(dwarfs.rewrite, closed, FOLDER .. "/w.dwarfs").code, -2)
	for _, name in ipairs {"read", "lines", "seek", "size", "close"} do
		same(fails(file[name], file).code, -2)
	end
	same(fails(file.pread, file, 1, 0).code, -2)
	same(lines(), "first")
	-- What a callback was given is closed when it has returned, and what runs cannot be closed.
	local kept
	local builder <close> = native.dwarfs_builder_new(nil)
	native.dwarfs_builder_set_include(builder, function(input)
		kept = input
		same(fails(native.close, builder).code, -2)
		return 1
	end)
	native.dwarfs_builder_add_directory(builder, TREE)
	native.dwarfs_builder_write_path(builder, FOLDER .. "/u.dwarfs", false)
	same(fails(native.dwarfs_input_path, kept).code, -2)
end)
test("children keep parents", function()
	local file, following = dwarfs.open(IMAGE):open("a.txt"), dwarfs.open(IMAGE):walk()
	collectgarbage()
	same(file:pread(5, 0), "first")
	same(following(), "")
	same(following() ~= nil, true)
	-- Functions and tasks live as long as what calls them.
	local count = 0
	local builder <close> = native.dwarfs_builder_new(nil)
	do
		local task = native.dwarfs_task_new()
		native.dwarfs_task_set_progress(task, function() count = count + 1 end)
		native.dwarfs_builder_set_task(builder, task)
	end
	collectgarbage()
	native.dwarfs_builder_add_directory(builder, TREE)
	native.dwarfs_builder_write_path(builder, FOLDER .. "/g.dwarfs", false)
	same(count > 0, true)
end)
test("open and close", function()
	local bytes, before = slurp(IMAGE), 0
	for i = 1, TIMES do
		dwarfs.open_bytes(bytes):close()
		if i == TIMES // 5 then before = resident() end
	end
	local more = resident() - before
	if TIMES == 10000 and more > 16 << 20 then error(more .. " bytes more") end
end)
test("threads", function() -- Lua has none: coroutines take turns
	local function reader()
		local file <close> = image:open("sub/b.bin")
		local bytes = 0
		for piece in file:lines(1000) do
			bytes = bytes + #piece
			coroutine.yield(bytes)
		end
		return "all"
	end
	local first, second = coroutine.wrap(reader), coroutine.wrap(reader)
	local bytes
	repeat
		bytes = first()
		same(second(), bytes)
	until bytes == "all"
end)
test("handles", function()
	image:close()
	collectgarbage()
	local before = dwarfs.handles()
	do
		local opened <close> = dwarfs.open(IMAGE)
		local _ <close> = opened:open("a.txt")
		same(dwarfs.handles(), before + 2)
	end
	same(dwarfs.handles(), before)
	for _ = 1, 20 do dwarfs.open(IMAGE):walk() end
	collectgarbage()
	same(dwarfs.handles(), before)
end)
