# SPDX-License-Identifier: MIT
#
# The cases of test_scenarios.py in Ruby.
require "dwarfs"
require "timeout"

FOLDER = ARGV[0]
TREE = "#{FOLDER}/tree"
IMAGE = "#{FOLDER}/x.dwarfs"
ODD = "\xff\xfe"
$stdout.sync = true

def same(got, wanted)
  raise "#{got.inspect}, not #{wanted.inspect}" if got != wanted
end

def fails(type = Dwarfs::Error)
  yield
rescue type => e
  e
else
  raise "nothing was raised"
end

def test(name)
  yield
  puts "ok #{name}"
rescue Exception => e
  puts "not ok #{name}: #{e.class}: #{e.message} #{e.backtrace.first(3)}".gsub("\n", " ")
end

def resident
  File.read("/proc/self/statm").split[1].to_i * 4096
end

test("pack") do
  Dwarfs.pack(TREE, IMAGE, level: 1, xattrs: true)
  same fails { Dwarfs.pack(TREE, IMAGE) }.code, -12
  Dwarfs.pack(TREE, IMAGE, level: 1, xattrs: true, overwrite: true)
end
test("callback chooses") do
  seen = []
  Dwarfs.pack(TREE, "#{FOLDER}/c.dwarfs") do |path, mode, size|
    seen << [path, mode & 0o170000, size]
    !path.b.end_with?("~")
  end
  same seen.count(["a.txt", 0o100000, 18]), 1
  same Dwarfs.open("#{FOLDER}/c.dwarfs") { |image| image.list.count { |e| e.path.b.end_with?("~") } }, 0
end
test("callback raises") do
  mine = Class.new(StandardError)
  same fails(mine) { Dwarfs.pack(TREE, "#{FOLDER}/r.dwarfs") { raise mine, "why" } }.message, "why"
  fails(Interrupt) { Dwarfs.pack(TREE, "#{FOLDER}/r.dwarfs", progress: ->(_) { raise Interrupt }) }
  before = Dwarfs.handles
  same catch(:out) { Dwarfs.pack(TREE, "#{FOLDER}/r.dwarfs") { throw :out, 5 } }, 5
  same Dwarfs.pack(TREE, "#{FOLDER}/r.dwarfs") { break 6 }, 6
  same ->(ended) { Dwarfs.pack(TREE, "#{FOLDER}/r.dwarfs", progress: ->(_) { throw ended, 7 }) }
    .then { |run| catch(:ended) { run.call(:ended) } }, 7
  def returns
    Dwarfs.pack(TREE, "#{FOLDER}/r.dwarfs") { return 8 }
  end
  same returns, 8
  after = false
  killed = Thread.new { Dwarfs.pack(TREE, "#{FOLDER}/r.dwarfs") { Thread.current.kill }; after = true }
  same [killed.value, after], [nil, false]
  raised = Thread.new { fails(mine) { Dwarfs.pack(TREE, "#{FOLDER}/r.dwarfs") { Thread.current.raise(mine) } } }
  same raised.value.class, mine
  fails(Timeout::Error) { Timeout.timeout(0.1) { Dwarfs.pack(TREE, "#{FOLDER}/r.dwarfs") { sleep } } }
  fails(Interrupt) do
    Dwarfs.pack(TREE, "#{FOLDER}/r.dwarfs", progress: ->(_) { Process.kill(:INT, $$) && sleep })
  end
  # A callback may run others, which end in their own ways.
  nested = Dwarfs.pack(TREE, "#{FOLDER}/r.dwarfs", overwrite: true) do
    catch(:in) { Dwarfs.pack(TREE, "#{FOLDER}/n.dwarfs") { throw :in } }
    fails(mine) { Dwarfs.pack(TREE, "#{FOLDER}/n.dwarfs") { raise mine } }
    break 9
  end
  same [nested, Dwarfs.handles], [9, before]
  same %w[r n].map { |name| File.exist?("#{FOLDER}/#{name}.dwarfs") }, [false, false]
end
test("fibers") do
  # A callback may leave its fiber, go on later, or never.
  output = "#{FOLDER}/fiber.dwarfs"
  resumed = Fiber.new { Dwarfs.pack(TREE, output, overwrite: true) { Fiber.yield(1) } }
  same resumed.resume, 1
  Dwarfs.pack(TREE, "#{FOLDER}/fiber2.dwarfs") do
    resumed.resume(true) if resumed.alive?
    true
  end
  resumed.resume(true) while resumed.alive?
  same Dwarfs.compare(output, "#{FOLDER}/fiber2.dwarfs"), []
  # The stacks of those that never go on are not used for others.
  30.times do
    Fiber.new { Dwarfs.pack(TREE, "#{FOLDER}/f.dwarfs", overwrite: true) { Fiber.yield } }.resume
  end
  2.times { GC.start }
  same ObjectSpace.each_object(Fiber).count(&:alive?) >= 30, true
  deep = ->(depth) { depth == 0 ? Fiber.yield : [depth].each { |more| deep.call(more - 1) } }
  100.times { Fiber.new { deep.call(100) }.resume }
  GC.start
  Dwarfs.pack(TREE, output, overwrite: true)
  fails(ArgumentError) { Dwarfs.pack(TREE, output, overwrite: true) { raise ArgumentError } }
end
test("progress") do
  reports = []
  Dwarfs.pack(TREE, "#{FOLDER}/p.dwarfs", progress: ->(now) { reports << now })
  same reports.last[:phase], "done"
  same reports.last[:done_bytes] > 0, true
end
test("cancel") do
  cancel = false
  failure = fails { Dwarfs.pack(TREE, "#{FOLDER}/k.dwarfs", cancel: -> { cancel }) { cancel = true } }
  same failure.code, -15
  # By another thread, while the run waits for it.
  cancel, begun, cancelled = false, Queue.new, Queue.new
  other = Thread.new do
    begun.pop
    cancel = true
    cancelled << true
  end
  failure = fails do
    Dwarfs.pack(TREE, "#{FOLDER}/k.dwarfs", cancel: -> { cancel }) do
      begun << true
      cancelled.pop
    end
  end
  same [failure.code, other.join.alive?], [-15, false]
  same File.exist?("#{FOLDER}/k.dwarfs"), false
end

image = nil
test("open path") do
  image = Dwarfs.open(IMAGE)
  same image.check, 0
  same image.size, File.size(IMAGE)
end
test("open bytes") do
  bytes = File.binread(IMAGE)
  copy = Dwarfs.open_bytes(bytes)
  bytes.clear
  same copy.read("a.txt"), "first\nsecond\nthird"
  copy.close
end
test("stat") do
  stat, wanted = image.stat("a.txt"), File.stat("#{TREE}/a.txt")
  same [stat.size, stat.mode, stat.uid, stat.gid], [18, wanted.mode, wanted.uid, wanted.gid]
  same stat.mtime.to_i, wanted.mtime.to_i
  same [stat.file?, stat.directory?], [true, false]
end
test("list") do
  same image.list.map { |e| e.name.b }.sort, ["a.txt", "link", "skip~", "sub", ODD.b]
  same image.list("sub").map(&:path), ["sub/b.bin"]
  same fails { image.list("a.txt") }.code, -10
end
test("walk") do
  same image.map { |e| e.path.b }.sort, ["", "a.txt", "link", "skip~", "sub", "sub/b.bin", ODD.b]
  same image.each("sub").map(&:to_s), ["sub", "sub/b.bin"]
  same image.each.next.path, ""
  same image.find(&:symlink?).readlink, "sub/b.bin"
end
test("bytes in names") do
  same image.read(ODD), "bytes"
  same image[ODD].name, ODD
  same image.exist?("\u263a"), false
  fails(ArgumentError) { image["a.txt\0"] }
end
test("pread") do
  image.open("sub/b.bin") do |file|
    same file.pread(3, 255), "\xff\x00\x01".b
    same file.pread(1 << 40, 255_990).bytesize, 10
    same file.pread(1, 1 << 40), ""
    fails(ArgumentError) { file.pread(-1, 0) }
    fails(ArgumentError) { file.pread(1, -1) }
    fails(ArgumentError) { file.read(-1) }
    [nil, "1", [], Object].each do |bad|
      fails(TypeError) { file.pread(bad, 0) }
      fails(TypeError) { file.pread(1, bad) }
    end
    fails(FloatDomainError) { file.pread(Float::NAN, 0) }
    [-1, 1 << 32, 1 << 70].each { |bad| fails(RangeError) { Dwarfs::Entry.new(image, bad, "").stat } }
  end
end
test("seek") do
  image.open("sub/b.bin") do |file|
    file.seek(-2, IO::SEEK_END)
    same file.read(10), "\xfe\xff".b
    same [file.eof?, file.read(1), file.read, file.read(0)], [true, nil, "", ""]
    fails(Errno::EINVAL) { file.seek(-1) }
    same file.tell, 256_000
    file.pos = 300_000
    same [file.read, file.gets], ["", nil]
    file.rewind
    same [file.getbyte, file.getbyte, file.pos], [0, 1, 2]
    buffer = +"old"
    same file.read(2, buffer).equal?(buffer), true
    same buffer, "\x02\x03"
  end
end
test("lines") do
  image.open("a.txt") do |file|
    same file.gets, "first\n"
    same file.each_line.to_a, ["second\n", "third"]
    same file.gets, nil
    file.rewind
    same file.gets(nil), "first\nsecond\nthird"
    file.rewind
    same file.gets("d\n"), "first\nsecond\n"
  end
  same image.open("sub/b.bin", &:readlines).join.bytesize, 256_000
end
# What IO does: compared with a file of the same bytes.
test("file handle") do
  require "csv"
  require "json"
  require "stringio"
  require "yaml"
  require "zlib"
  Dir.mkdir("#{FOLDER}/text")
  gzip = StringIO.new("".b)
  Zlib::GzipWriter.new(gzip).tap { |out| out.write("packed") }.close
  files = { "lines" => "\n\n\u00e9ne\r\ntwo\n\n\n\nthree" + "x" * 20_000 + "\u00fc" * 9000 + "\n\nlast",
            "a.csv" => "a,b\n1,\"x\ny\"\n", "a.yml" => "a: [1, \u00fc]\n", "a.json" => "{\"a\": [1]}",
            "a.gz" => gzip.string, "a.marshal" => Marshal.dump([1, "x"]), "empty" => "",
            "crlf" => "one\r\n\n\ntwo\r\n\r\nthree\n\n" }
  files.each { |name, text| File.binwrite("#{FOLDER}/text/#{name}", text) }
  Dwarfs.pack("#{FOLDER}/text", "#{FOLDER}/t.dwarfs", level: 1)
  text = Dwarfs.open("#{FOLDER}/t.dwarfs")
  like_io = lambda do |name = "lines", &block|
    results = [text.open(name), File.open("#{FOLDER}/text/#{name}")].map do |io|
      [block.call(io), io.pos, io.lineno, io.eof]
    ensure
      io.close
    end
    same results[0][1..], results[1][1..]
    same results[0][0] == results[1][0], true
    same [results[0][0]].flatten.grep(String).map(&:encoding), [results[1][0]].flatten.grep(String).map(&:encoding)
  end
  [[], [nil], [""], ["wo"], [5], [1], ["\n", 3], [nil, 7], ["", 30_000], [nil, 9001], [-1], ["none"]].each do |arguments|
    [{}, { chomp: true }].each do |options|
      next if options[:chomp] && arguments == [nil] # differs between versions of Ruby
      like_io.call { |io| io.readlines(*arguments, **options) }
      like_io.call { |io| io.each_line(*arguments, **options).to_a }
      like_io.call { |io| Array.new(3) { io.gets(*arguments, **options) } }
      like_io.call("empty") { |io| io.gets(*arguments, **options) }
    end
  end
  like_io.call { |io| [io.gets(0), io.readline, io.readlines.size] }
  like_io.call { |io| [io.each_char.first(9), io.getc, io.readchar, io.each_byte.first(3), io.readbyte, io.getbyte] }
  like_io.call { |io| [io.readpartial(5), io.read(4), io.read] }
  like_io.call { |io| [io.seek(-3, :END), io.read, io.seek(2, :SET), io.seek(1, :CUR), io.getc] }
  like_io.call { |io| io.binmode; [io.gets, io.gets(""), io.external_encoding, io.read] }
  like_io.call { |io| io.set_encoding("ISO-8859-1"); [io.gets(""), io.getc] }
  like_io.call("empty") { |io| [io.read, io.read(0), io.read(1), io.getc, io.getbyte, io.eof?] }
  like_io.call { |io| [io.each_codepoint.first(4), io.read_nonblock(9, +""), io.pread(3, 2, +"z"), io.pread(0, 99_999)] }
  like_io.call("empty") { |io| [io.each_codepoint.to_a, io.read_nonblock(1, exception: false)] }
  # What was put back, also in front of a line that is longer than the buffer.
  like_io.call { |io| [io.gets, io.gets, io.gets, io.ungetc("\u00fcx\n"), io.gets(nil, 1), io.gets, io.ungetbyte(nil), io.gets] }
  like_io.call { |io| [io.read(7), io.ungetbyte(65), io.ungetbyte("ab"), io.ungetc(0x42), io.read(2), io.getc, io.gets] }
  like_io.call { |io| [io.seek(30), io.getbyte, io.ungetc("z"), io.gets("", chomp: true), io.gets] }
  like_io.call { |io| [io.read(9), io.ungetbyte("abc"), io.seek(1), io.read(3)] }
  like_io.call { |io| [io.read, io.ungetc("z"), io.eof, io.read, io.eof] }
  like_io.call("empty") { |io| [io.ungetbyte("AB"), io.getbyte, io.read, io.getbyte] }
  # The position may be negative then.
  like_io.call { |io| [io.ungetbyte("abc"), io.read(0), io.read(1), io.readpartial(1), io.getc, io.read(4)] }
  # A buffer keeps its encoding, and paragraphs their carriage return.
  like_io.call { |io| [io.read(6, +"z"), io.readpartial(3, (+"").force_encoding("EUC-JP")), io.read(nil, +"")] }
  like_io.call("crlf") { |io| io.readlines("", chomp: true) }
  # Characters that were cut are completed, also after bytes that are none.
  like_io.call { |io| [io.seek(3), io.gets(nil, 20_013), io.gets(nil, 2)] }
  closed = text.open("lines").tap(&:close)
  fails(IOError) { closed.lineno }
  fails(IOError) { closed.lineno = 1 }
  text.open("lines") { |file| fails(TypeError) { file.ungetc(nil) } }
  text.open("empty") do |file|
    %i[readline readchar readbyte].each { |name| fails(EOFError) { file.public_send(name) } }
    fails(EOFError) { file.readpartial(1) }
    fails(EOFError) { file.read_nonblock(1) }
    fails(Errno::EINVAL) { file.seek(0, 9) }
    fails(TypeError) { file.readpartial(nil) }
    fails(ArgumentError) { file.seek(0, :NONE) }
    fails(TypeError) { file.seek("0") }
    fails(TypeError) { file.gets({}) }
    fails(ArgumentError) { file.each_line(0) { nil } }
  end
  same CSV.new(text.open("a.csv")).read, [["a", "b"], ["1", "x\ny"]]
  same YAML.load(text.open("a.yml")), { "a" => [1, "\u00fc"] }
  same JSON.load(text.open("a.json")), { "a" => [1] }
  same Zlib::GzipReader.new(text.open("a.gz")).read, "packed"
  same Marshal.load(text.open("a.marshal")), [1, "x"]
  same IO.copy_stream(text.open("lines"), "#{FOLDER}/copied"), files["lines"].bytesize
  same text.binread("lines"), files["lines"].b
  text.close
end
test("xattr") do
  same image.xattrs("a.txt")["user.note"], "v\0w"
  same image.xattrs("sub").keys.grep(/^user\./), []
end
test("link target") do
  same image.readlink("link"), "sub/b.bin"
  same image.open("link", &:size), 256_000
  same fails { image.readlink("sub") }.code, -2
end
test("links") do
  Dwarfs.pack("#{FOLDER}/links", "#{FOLDER}/l.dwarfs")
  Dwarfs.open("#{FOLDER}/l.dwarfs") do |links|
    %w[through/file through/../through/file through/up absolute].each do |path|
      same [links.read(path), links.stat(path).size, links.exist?(path)], ["text", 4, true]
    end
    same %w[through through/up absolute dangling circle].map { |path| links.lstat(path).symlink? }.uniq, [true]
    same [links.lstat("through/file").file?, links.stat("through").directory?], [true, true]
    same [links.readlink("through/up"), links.readlink("through")], ["../dir/file", "dir"]
    same links.list("through").map(&:name).sort, ["file", "up"]
    same links.xattrs("through/up").size, 0
    same links.each("through/file").map(&:path), ["through/file"]
    same %w[dangling circle through/none dir/file/none].map { |path| links.exist?(path) }.uniq, [false]
    failure = fails { links["through/none"] }
    same [failure.code, failure.path], [-9, "through/none"]
    require "pathname"
    same links.stat(Pathname("through/file")).size, 4
    fails(TypeError) { links.stat(nil) }
  end
end
test("missing file") do
  { -> { image.read("sub") } => ["sub", "'sub' is a directory"],
    -> { image.list("a.txt") } => ["a.txt", "'a.txt' is not a directory"],
    -> { image.readlink("a.txt") } => ["a.txt", "'a.txt' is not a link"] }.each do |call, wanted|
    failure = fails(&call)
    same [failure.path, failure.message], wanted
  end
  failure = fails { image.open("sub/none") }
  same failure.message, "'sub/none' does not exist"
  same [failure.code, failure.path], [-9, "sub/none"]
  same failure.message.include?("none"), true
  same fails { Dwarfs.open("#{FOLDER}/none") }.errno, Errno::ENOENT::Errno
end
test("not an image") do
  same fails { Dwarfs.open("#{TREE}/a.txt") }.code, -7
  same fails { Dwarfs.open_bytes("") }.code, -7
end
test("damaged image") do
  bytes = File.binread(IMAGE)
  bytes.setbyte(80, bytes.getbyte(80) ^ 1)
  File.binwrite("#{FOLDER}/d.dwarfs", bytes)
  Dwarfs.open("#{FOLDER}/d.dwarfs") do |damaged|
    failure = fails { damaged.read("sub/b.bin") }
    same [failure.code, failure.offset, failure.path], [-6, 0, "#{FOLDER}/d.dwarfs"]
    same failure.message.include?("'sub/b.bin'"), true
    same fails { damaged.check }.code, -6
  end
  File.truncate("#{FOLDER}/d.dwarfs", bytes.bytesize - 1)
  failure = fails { Dwarfs.open("#{FOLDER}/d.dwarfs") }
  same [failure.code, failure.path, failure.offset > 0], [-5, "#{FOLDER}/d.dwarfs", true]
end
test("extract") do
  copy = "#{FOLDER}/extracted"
  image.extract(copy, patterns: "sub/", xattrs: false)
  same Dir.children(copy), ["sub"]
  same File.size("#{copy}/sub/b.bin"), 256_000
  failure = fails { image.extract(copy, patterns: ["sub/"]) }
  same [failure.code, failure.path.end_with?("sub/b.bin")], [-12, true]
  reports = []
  image.extract("#{copy}2", progress: ->(now) { reports << now }, continue_on_error: true)
  same reports.last[:phase], "done"
  same Dwarfs.compare(image, "#{copy}2"), []
  mine = Class.new(StandardError)
  fails(mine) { image.extract("#{copy}3", progress: ->(_) { raise mine }) }
  same fails { image.extract("#{copy}4", cancel: -> { true }) }.code, -15
  same fails { image.extract("#{copy}5", patterns: "[") }.code, -2
  same fails { image.extract("#{FOLDER}/no/copy") }.code, -9
  fails(TypeError) { image.extract(5) }
  fails(ArgumentError) { image.extract(copy, no_option: 1) }
end
test("export") do
  tar = "#{FOLDER}/x.tar"
  image.export(tar)
  image.export(tar, format: "ustar", filters: ["gzip"], patterns: "sub/", tree_order: true, xattrs: false)
  same File.binread(tar, 2), "\x1f\x8b".b
  image.export(tar)
  same File.binread(tar).include?("ustar"), true
  same fails { image.export("#{FOLDER}/x.unknown") }.code, -2
  same fails { image.export(tar, format: "none") }.code, -2
  same fails { image.export("#{FOLDER}/k.tar", cancel: -> { true }) }.code, -15
  fails(Interrupt) { image.export("#{FOLDER}/k.tar", progress: ->(_) { raise Interrupt }) }
  same File.exist?("#{FOLDER}/k.tar"), false
end
test("import") do
  tar, imported, phases = "#{FOLDER}/x.tar", "#{FOLDER}/i.dwarfs", []
  Dwarfs.pack(tar, imported, level: 1, progress: ->(now) { phases << now[:phase] })
  same phases.include?("reading"), true
  same Dwarfs.compare(IMAGE, imported), []
  Dir.mkdir("#{FOLDER}/more")
  File.write("#{FOLDER}/more/a.txt", "other")
  Dwarfs.pack([tar, image, "#{FOLDER}/c.dwarfs", "#{FOLDER}/more"], imported, overwrite: true)
  Dwarfs.open(imported) do |merged|
    same [merged.read("a.txt"), merged.read("skip~"), merged.list.size], ["other", "old", 5]
  end
  same fails { Dwarfs.pack("#{TREE}/a.txt", imported, overwrite: true) }.code, -8
  same fails { Dwarfs.pack([tar, "#{FOLDER}/none"], imported, overwrite: true) }.code, -9
  fails { Dwarfs.pack([], "#{FOLDER}/w.dwarfs") }
  same fails { Dwarfs.pack(tar, "#{FOLDER}/w.dwarfs", cancel: -> { true }) }.code, -15
  fails(Interrupt) { Dwarfs.pack(tar, "#{FOLDER}/w.dwarfs", progress: ->(_) { raise Interrupt }) }
  fails(TypeError) { Dwarfs.pack([5], "#{FOLDER}/w.dwarfs") }
  same File.exist?("#{FOLDER}/w.dwarfs"), false
end
test("compare") do
  same Dwarfs.compare(image, TREE), []
  found = Dwarfs.compare(image, "#{FOLDER}/i.dwarfs", ignore: ["mtime", "xattr"])
  same found.select { |d| d.kind == "size" }.map(&:to_a), [["size", "a.txt", nil, "18", "5"]]
  same Dwarfs.compare(IMAGE, "#{FOLDER}/c.dwarfs").find { |d| d.kind == "only-a" }.path, "skip~"
  same Dwarfs.compare(image, image, time_resolution_ns: 1), []
  same fails { Dwarfs.compare(image, "#{FOLDER}/none") }.code, -9
  same fails { Dwarfs.compare(image, TREE, cancel: -> { true }) }.code, -15
  fails(ArgumentError) { Dwarfs.compare(image, TREE, ignore: "nothing") }
  fails(TypeError) { Dwarfs.compare(nil, image) }
end
test("rewrite") do
  output, count = "#{FOLDER}/rewritten.dwarfs", 0
  Dwarfs.rewrite(image, output, compression: "null", progress: ->(_) { count += 1 })
  same [count > 0, Dwarfs.compare(IMAGE, output)], [true, []]
  before = File.size(output)
  Dwarfs.rewrite(output, output, level: 5, block_bits: 16, change_block_size: true, overwrite: true)
  same [File.size(output) < before, Dwarfs.compare(IMAGE, output)], [true, []]
  File.binwrite("#{FOLDER}/header.dwarfs", "#!/bin/sh\n" + File.binread(output))
  Dwarfs.rewrite("#{FOLDER}/header.dwarfs", output, blocks: false, overwrite: true)
  same File.binread(output, 16), "#!/bin/sh\nDWARFS"
  closed = Dwarfs.open(IMAGE)
  Dwarfs.rewrite(closed, output, overwrite: true, progress: ->(_) { closed.close })
  same Dwarfs.compare(IMAGE, output), []
  same fails { Dwarfs.rewrite(image, output) }.code, -12
  same fails { Dwarfs.rewrite(image, "#{FOLDER}/w.dwarfs", categories: "none") }.code, -2
  same fails { Dwarfs.rewrite(image, "#{FOLDER}/w.dwarfs", cancel: -> { true }) }.code, -15
  same fails { Dwarfs.rewrite("#{TREE}/a.txt", "#{FOLDER}/w.dwarfs") }.code, -7
  fails(ArgumentError) { Dwarfs.rewrite(image, "#{FOLDER}/w.dwarfs", no_option: 1) }
  same File.exist?("#{FOLDER}/w.dwarfs"), false
end
test("wrong type") do
  image.open("a.txt") do |file|
    fails(StandardError) { Dwarfs_native.dwarfs_image_bytes(file.pointer) }
  end
  fails(StandardError) { Dwarfs_native.dwarfs_image_bytes("text") }
  fails { Dwarfs_native.dwarfs_image_bytes(nil) }
  fails(ArgumentError) { Dwarfs_native.dwarfs_image_bytes }
  fails(ArgumentError) { Dwarfs.pack(TREE, "#{FOLDER}/w.dwarfs", no_option: 1) }
  [[{ level: "a" }, TypeError, "level: a whole number is needed, not \"a\""],
   [{ level: 2.5 }, TypeError, "level: a whole number is needed, not 2.5"],
   [{ block_bits: -1 }, RangeError, "block_bits: -1 is out of range"],
   [{ level: 1 << 32 }, RangeError, "level: 4294967296 is out of range"]].each do |options, kind, message|
    same fails(kind) { Dwarfs.pack(TREE, "#{FOLDER}/w.dwarfs", **options) }.message, message
  end
  fails(TypeError) { Dwarfs.open(5) }
  same fails { Dwarfs::Entry.new(image, 1 << 30, "").stat }.code, -3
  fails(TypeError) { image.dup }
end
test("use after close") do
  closed = Dwarfs.open(IMAGE)
  file, entry, walk = closed.open("a.txt"), closed["sub"], closed.each
  walk.next
  [closed, file, closed, file].each(&:close)
  same closed.closed?, true
  same fails { closed.list }.message, "the image is closed"
  fails(IOError) { file.gets } # as a closed IO does
  fails { file.ungetc("x") }
  [-> { closed.stat("a.txt") }, -> { entry.list }, -> { entry.stat }, -> { walk.next },
   -> { file.pread(1, 0) }, -> { file.read }, -> { file.gets }, -> { file.pos },
   -> { file.seek(0) }, -> { closed.check }, -> { closed.extract("#{FOLDER}/w") },
   -> { closed.export("#{FOLDER}/w.tar") }, -> { Dwarfs.compare(TREE, closed) },
   -> { Dwarfs.pack([TREE, closed], "#{FOLDER}/w.dwarfs") },
   -> { Dwarfs.rewrite(closed, "#{FOLDER}/w.dwarfs") }].each { |use| same fails(&use).code, -2 }
end
# Of a number or a string; the block is called when that is asked for.
Converted = Struct.new(:value, :block) do
  def to_int
    block.call
    value
  end
  alias_method :to_str, :to_int
end
test("closed before the call") do
  # What a method has when the handle is closed is not used.
  opened = Dwarfs.open(IMAGE)
  file, other = Array.new(2) { opened.open("a.txt") }
  pointers = [[opened, :dwarfs_image_bytes], [other, :dwarfs_file_bytes]]
             .map { |handle, function| [handle.pointer, function] }
  same fails { file.pread(Converted.new(5, -> { file.close }), 0) }.code, -2
  same fails { Dwarfs_native.dwarfs_script_find(opened.pointer, Converted.new("sub", -> { opened.close })) }.code, -2
  other.close
  pointers.each do |pointer, function|
    same fails { Dwarfs_native.public_send(function, pointer) }.message, "the handle is closed"
  end
end
test("children keep parents") do
  file = Dwarfs.open(IMAGE).open("a.txt")
  walk = Dwarfs.open(IMAGE).each
  GC.start
  same file.pread(5, 0), "first"
  same walk.next.path, ""
  same walk.next.stat.nlink, 1
  file.close
end
test("open and close") do
  bytes, before = File.binread(IMAGE), 0
  10_000.times do |i|
    Dwarfs.open_bytes(bytes).close
    before = resident if i == 2000
  end
  more = resident - before
  raise "#{more} bytes more" if more > 16 << 20
end
test("threads") do
  found = Array.new(4) { Thread.new { Array.new(20) { image.read("sub/b.bin").bytesize }.uniq } }
  same found.map(&:value), [[256_000]] * 4
  # The image goes to a pipe that another thread reads: without that the call does not end. No
  # callback lets other threads run.
  File.mkfifo("#{FOLDER}/fifo")
  reader = Thread.new { File.binread("#{FOLDER}/fifo") }
  Thread.pass until reader.stop?
  builder = Dwarfs_native.dwarfs_builder_new(nil)
  Dwarfs_native.dwarfs_builder_set_codec(builder, Dwarfs_native::DWARFS_CODEC_BLOCKS, "null")
  Dwarfs_native.dwarfs_builder_add_directory(builder, TREE)
  Dwarfs_native.dwarfs_builder_write_path(builder, "#{FOLDER}/fifo", true)
  Dwarfs_native.dwarfs_builder_free(builder)
  same Dwarfs.open_bytes(reader.value) { |piped| piped.read("sub/b.bin") }, image.read("sub/b.bin")
  # The addresses of callbacks stay.
  Dwarfs.pack(TREE, "#{FOLDER}/moved.dwarfs", progress: ->(_) { GC.compact }) { GC.compact }
  Dwarfs.compare(image, "#{FOLDER}/c.dwarfs", progress: ->(_) { GC.compact })
  # What is closed during a call is freed afterwards.
  before = Dwarfs.handles
  100.times do
    opened = Dwarfs.open(IMAGE)
    file = opened.open("sub/b.bin")
    readers = Array.new(2) do
      Thread.new do
        same file.pread(256_000, 0).bytesize, 256_000
        opened.check
      rescue Dwarfs::Error => e
        same e.code, -2
      end
    end
    Thread.pass
    [opened, file].each(&:close)
    readers.each(&:join)
  end
  50.times do
    opened = Dwarfs.open(IMAGE)
    readers = Array.new(2) do
      Thread.new do
        same opened.read("sub/b.bin"), image.read("sub/b.bin")
      rescue Dwarfs::Error => e
        same e.code, -2
      end
    end
    Thread.pass
    opened.close
    readers.each(&:join)
  end
  same Dwarfs.handles, before
  child = fork { exit!(image.read("a.txt").bytesize == 18 ? 0 : 1) }
  same Process.wait2(child)[1].exitstatus, 0
end
test("other ractors") do
  # They cannot use the library, and what they collect is freed by the main one.
  Warning[:experimental] = false
  same Ractor.new(IMAGE) { |path| Dwarfs.open(path) rescue $!.class }.take, Ractor::UnsafeError
  before = Dwarfs.handles
  other = Ractor.new { 300.times { GC.start } }
  1000.times { Dwarfs.open(IMAGE) }
  other.take
  Dwarfs.open(IMAGE).close
  3.times { GC.start }
  more = Dwarfs.handles - before
  raise "#{more} handles more" if more > 20
  # A handle cannot be shared with them, and stays usable, also what was reached by another object.
  before = Dwarfs.handles
  opened = Dwarfs.open(IMAGE)
  file = opened.open("a.txt")
  [opened, opened["a.txt"], [file]].each do |object|
    fails(Ractor::Error) { Ractor.make_shareable(object) }
  end
  same opened.read("a.txt").bytesize, 18
  [file, opened.freeze].each(&:close)
  same [file.closed?, opened.closed?, Dwarfs.handles], [true, true, before]
end
# What is only forgotten is freed at some time; what is closed, at once.
test("handles") do
  image.close
  # What an exception of another thread interrupts is freed, too.
  open_files = -> { 2.times { GC.start } && Dir.children("/proc/self/fd").size }
  before = open_files.call
  Timeout.timeout(60) do
    100.times do
      started = Queue.new
      opening = Thread.new do
        started << 1
        loop { Dwarfs.open(IMAGE) { |opened| opened.open("a.txt") {} } }
      end
      opening.report_on_exception = false
      started.pop
      opening.raise("stop")
      fails(RuntimeError) { opening.join }
    end
  end
  after = open_files.call
  raise "#{after - before} files more" if after > before + 5
  # What ends a thread while it closes a handle does not lose that.
  opened = Dwarfs.open(IMAGE)
  before = Dwarfs.handles
  1000.times do
    closing = Thread.new { loop { opened.open("a.txt") {} } }
    sleep 0.0002
    closing.kill.join
  end
  3.times { GC.start }
  after = Dwarfs.handles
  raise "#{after - before} handles more" if after > before + 5
  opened.close
  before = Dwarfs.handles
  Dwarfs.open(IMAGE) { |opened| opened.open("a.txt") { same Dwarfs.handles, before + 2 } }
  same Dwarfs.handles, before
  Array.new(100) { Dwarfs.open_bytes(File.binread(IMAGE)) }
  GC.start
  same Dwarfs.handles < before + 100, true
  # In a process that keeps no objects, none are left.
  program = <<~PROGRAM
    require "dwarfs"
    Dwarfs.open(ARGV[0]) { |image| image.open("a.txt", &:read) && image.each.first(3) }
    print Dwarfs.handles, " "
    Thread.new { 20.times { [Dwarfs.open(ARGV[0]).open("a.txt"), Dwarfs.open(ARGV[0]).each.next] } }.join
    print Dwarfs.handles > 0, " "
    100.times { GC.start if Dwarfs.handles > 0 }
    print Dwarfs.handles
  PROGRAM
  paths = $LOAD_PATH.flat_map { |path| ["-I", path] }
  same IO.popen([RbConfig.ruby, "-W0", *paths, "-e", program, IMAGE], &:read), "0 true 0"
end
