# SPDX-License-Identifier: MIT

require "dwarfs_native"

# Read and write DwarFS images.
#
#   Dwarfs.pack("photos", "photos.dwarfs") { |path| !path.end_with?("~") }
#   Dwarfs.open("photos.dwarfs") do |image|
#     image.each { |entry| puts entry.path if entry.file? }
#     image.open("notes.txt") { |file| file.each_line { |line| puts line } }
#     image.extract("copy")
#     image.export("photos.tar.zst")
#   end
#   Dwarfs.pack(["photos.dwarfs", "more.tar"], "all.dwarfs")
#   Dwarfs.compare("photos.dwarfs", "copy").each { |difference| p difference }
#   Dwarfs.rewrite("photos.dwarfs", "small.dwarfs", level: 9)
#
# Paths are below the root of the image; those that are returned are UTF-8, with whatever bytes the
# image has. What fails raises Dwarfs::Error, also when a closed object is used. Walks and files
# keep their image open. Other threads run while the library works; signals, Timeout and Thread#kill
# end a run at its next callback, a report of progress comes ten times a second. Other Ractors than
# the main one cannot use the library (Ractor::UnsafeError).
module Dwarfs
  # The failure of a call, also of one on a closed object: an IOError, as of IO. The path and the
  # offset in that file are nil if it has none.
  class Error < IOError
    attr_reader :code, :path, :offset, :errno

    DAMAGED = [Dwarfs_native::DWARFS_ERR_CORRUPT, Dwarfs_native::DWARFS_ERR_CHECKSUM].freeze
    private_constant :DAMAGED

    def self.make(code, message, path, offset, errno)
      new(message.force_encoding(Encoding::UTF_8)).set(code, path && Dwarfs.text(path), offset,
                                                        errno)
    end

    # Call the block; its error has the path instead of the number of an inode. If the image is
    # damaged, the path of the error is that of the image.
    def self.for_path(path)
      yield
    rescue Error => failure
      raise if failure.path && (!DAMAGED.include?(failure.code) || failure.path.b == path.b)
      text = failure.message.b
      text = text.sub!(/\Ainode \d+ is /, "is ") ? " #{text}" : ": #{text}"
      raise make(failure.code, "'".b + path.b + "'" + text, failure.path&.b || path.b,
                 failure.offset, failure.errno),
            cause: nil
    end

    def set(code, path, offset, errno)
      @code, @path, @offset, @errno = code, path, offset, errno
      self
    end
  end

  Native = Dwarfs_native
  private_constant :Native

  class << self
    # How many handles of the library this process has open.
    def handles
      Native.dwarfs_script_handles(0)
    end

    # A path or bytes as a string that is UTF-8 if it is valid.
    def text(bytes)
      bytes.force_encoding(Encoding::UTF_8)
    end

    # The value of an option that is a number.
    def number(name, value, bits = 32)
      raise TypeError, "#{name}: a whole number is needed, not #{value.inspect}" unless value.is_a?(Integer)
      raise RangeError, "#{name}: #{value} is out of range" unless value >= 0 && value >> bits == 0
      value
    end

    # An image in a file. With a block it is given to that, and closed afterwards.
    def open(path, &block)
      path = File.path(path)
      Handle.using(Image.create { Native.dwarfs_image_open(nil, path, nil) }, &block)
    end

    # An image in a string, which is copied.
    def open_bytes(bytes, &block)
      io = Handle.create(:dwarfs_io_free) { Native.dwarfs_script_io(bytes) }
      image = Image.create { Native.dwarfs_image_open_io(nil, io.pointer, nil) }
      Handle.using(image, &block)
    ensure
      io&.close
    end

    # Make an image of a directory, an image or an archive (tar, cpio, zip and others), or of an
    # Array of them: later ones replace entries of earlier ones. Each is a path or an open Image;
    # the blocks of images are copied as they are stored. Options: level, 0 to 9; block_bits,
    # order and compression, as for mkdwarfs; xattrs, whether to keep extended attributes.
    # overwrite replaces the output.
    #
    # The block is called with a path, a mode and a size, and says whether to include it;
    # progress is called with a Hash. What they raise ends the run, leaves no image (except in the
    # last call of progress, when it is complete), and is raised; break, throw and return out of
    # them end it, too. They may leave their fiber: the run waits until it is resumed, and if it
    # never is, its handles stay open. cancel is called with each entry and report, and says
    # whether to stop.
    def pack(input, output, overwrite: false, progress: nil, cancel: nil, **options, &include)
      Run.new(progress, cancel, include).start do |run|
        builder = run.builder(**options)
        run.add(builder, input.is_a?(Array) ? input : [input])
        Native.dwarfs_builder_write_path(builder, File.path(output), overwrite)
      end
      nil
    end

    # Write an image anew, with the same files: blocks and metadata are compressed again, with
    # the level and compression of the options. rebuild makes the metadata anew, so that options
    # of attributes apply; change_block_size gives all blocks the size of block_bits, and
    # rebuilds; categories chooses blocks by the names of their categories, with commas between
    # them, or with "!" in front all others. The source is a path or an open Image, and the
    # output may be its file. A header is kept.
    def rewrite(source, output, blocks: true, metadata: true, rebuild: false,
                change_block_size: false, categories: nil, overwrite: false, progress: nil,
                cancel: nil, **options)
      parts = { Native::DWARFS_REWRITE_BLOCKS => blocks || change_block_size,
                Native::DWARFS_REWRITE_METADATA => metadata,
                Native::DWARFS_REWRITE_REBUILD => rebuild || change_block_size,
                Native::DWARFS_REWRITE_BLOCK_SIZE => change_block_size }
      Run.new(progress, cancel).start do |run|
        image = run.image(source)
        builder = run.builder(**options)
        Native.dwarfs_composed_keep_header(builder, image)
        Native.dwarfs_builder_set_recompress_categories(builder, categories) if categories
        output = File.path(output)
        sink = run.own(:dwarfs_sink_free) { Native.dwarfs_sink_open(output, overwrite) }
        Native.dwarfs_rewrite(image, parts.select { |_, chosen| chosen }.keys.sum, builder, sink)
      end
      nil
    end

    # The differences between two trees, an Array that is empty when they agree. Each is an open
    # Image, or the path of an image, a directory or an archive. ignore has kinds that are not
    # reported. Times are compared in seconds, unless time_resolution_ns is given. What cannot be
    # read is a difference of the kind "trouble".
    def compare(a, b, ignore: [], time_resolution_ns: nil, progress: nil, cancel: nil)
      kinds = Difference.kinds
      found = []
      Run.new(progress, cancel).start do |run|
        compare = run.own(:dwarfs_compare_free) { Native.dwarfs_compare_new(nil) }
        Native.dwarfs_compare_set_task(compare, run.task)
        [a, b].each_with_index { |tree, side| run.compare_with(compare, side, tree) }
        Array(ignore).each do |word|
          kind = kinds.index(word) || raise(ArgumentError, "not a kind of difference: #{word}")
          Native.dwarfs_compare_ignore(compare, kind)
        end
        if time_resolution_ns
          step = Dwarfs.number(:time_resolution_ns, time_resolution_ns, 64)
          Native.dwarfs_compare_set_time_resolution(compare, step)
        end
        add = run.callback { |native| found << Difference.make(kinds, native) }
        Native.dwarfs_compare_run(compare, add)
      end
      found
    end
  end

  # What differs: kind is a word such as "mode" or "only-a", name that of an extended attribute,
  # a and b are what both sides have, as bytes, or nil.
  class Difference < Struct.new(:kind, :path, :name, :a, :b)
    # The words of all kinds.
    def self.kinds
      Array.new(Dwarfs_native::DWARFS_DIFFERENCE_KINDS) do |kind|
        Dwarfs.text(Dwarfs_native.dwarfs_difference_word(kind))
      end
    end

    def self.make(kinds, native)
      name = Dwarfs_native.dwarfs_difference_name(native)
      new(kinds[Dwarfs_native.dwarfs_difference_kind(native)],
          Dwarfs.text(Dwarfs_native.dwarfs_difference_path(native)), name && Dwarfs.text(name),
          Dwarfs_native.dwarfs_composed_value(native, Dwarfs_native::DWARFS_COMPARE_A),
          Dwarfs_native.dwarfs_composed_value(native, Dwarfs_native::DWARFS_COMPARE_B))
    end
  end

  # One operation: its task, its callbacks, and the handles that it frees. An exception of a
  # callback is kept, and stops it.
  class Run
    def initialize(progress, cancel, include = nil)
      @progress, @cancel, @include = progress, cancel, include
      @handles, @callbacks = [], []
    end

    # Call the block, and raise what has stopped it.
    def start
      on_progress = callback { |now| report(now) }
      @on_include = callback { |input| choose(input) }
      @task = own(:dwarfs_task_free) { Native.dwarfs_task_new }
      Native.dwarfs_task_set_progress(@task, on_progress)
      begin
        result = yield self
      rescue Error
        raise @failure || $!
      end
      raise @failure if @failure
      result
    ensure
      Thread.handle_interrupt(Object => :never) do
        @handles.reverse_each(&:close)
        @callbacks.each { |call| Native.dwarfs_script_unpin(call) }
      end
    end

    attr_reader :task

    # The pointer that the block opens, which is freed at the end.
    def own(free, &block)
      @handles << Handle.create(free, &block)
      @handles.last.pointer
    end

    # What the library may call, as long as the operation lasts. Returns what the block returns
    # if that is a number.
    def callback(&block)
      call = lambda do |argument|
        guard do
          result = block.call(argument)
          result.is_a?(Integer) ? result : 0
        end
      end
      @callbacks << call
      Native.dwarfs_script_pin(call)
      call
    end

    def builder(level: nil, xattrs: nil, order: nil, compression: nil, block_bits: nil)
      builder = own(:dwarfs_builder_free) { Native.dwarfs_builder_new(nil) }
      Native.dwarfs_builder_set_task(builder, @task)
      Native.dwarfs_builder_set_include(builder, @on_include)
      Native.dwarfs_builder_set_level(builder, Dwarfs.number(:level, level)) if level
      if block_bits
        Native.dwarfs_builder_set_block_bits(builder, Dwarfs.number(:block_bits, block_bits))
      end
      Native.dwarfs_builder_set_xattrs(builder, xattrs) unless xattrs.nil?
      Native.dwarfs_builder_set_order(builder, order) if order
      if compression
        Native.dwarfs_builder_set_codec(builder, Native::DWARFS_CODEC_BLOCKS, compression)
      end
      builder
    end

    def add(builder, inputs)
      inputs.each do |input|
        if input.is_a?(Image)
          Native.dwarfs_builder_add_image(builder, input.pointer, "", Native::DWARFS_KEEP_BLOCKS)
        else
          Native.dwarfs_composed_add_path(builder, File.path(input), inputs.size == 1, @task)
        end
      end
    end

    # A pointer to an open image, which a callback may close, or to one that is opened.
    def image(source)
      return own(:dwarfs_image_free) { Native.dwarfs_image_ref(source.pointer) } if source.is_a?(Image)
      path = File.path(source)
      own(:dwarfs_image_free) { Native.dwarfs_image_open(nil, path, nil) }
    end

    def compare_with(compare, side, tree)
      if tree.is_a?(Image)
        Native.dwarfs_compare_set_image(compare, side, tree.pointer)
      else
        Native.dwarfs_compare_set_path(compare, side, File.path(tree), nil)
      end
    end

    private

    def choose(input)
      return 1 unless @include
      path = Dwarfs.text(Native.dwarfs_input_path(input))
      @include.call(path, Native.dwarfs_input_mode(input), Native.dwarfs_input_bytes(input)) ? 1 : 0
    end

    def report(now)
      phase = Native.dwarfs_phase_name(Native.dwarfs_progress_phase(now))
      @progress&.call({ phase: phase, done_bytes: Native.dwarfs_progress_number(now, 0),
                        total_bytes: Native.dwarfs_progress_number(now, 1),
                        done_items: Native.dwarfs_progress_number(now, 5) })
      nil
    end

    def guard
      return -15 if @failure || @cancel&.call
      yield
    rescue Exception => failure # also Interrupt: it is raised when the library has returned
      @failure = failure
      -15
    end
  end
  private_constant :Run

  # Owns a handle of the library, which is freed once.
  class Handle
    def self.using(object)
      return object unless block_given?
      begin
        yield object
      ensure
        object.close
      end
    end

    # The handle of the pointer that the block opens. An exception of another thread (Timeout,
    # Thread#raise, Thread#kill) waits until there is a finalizer, which frees the pointer.
    def self.create(*more)
      Thread.handle_interrupt(Object => :never) { new(yield, *more) }
    end

    # The states of all open handles, and of those that were collected by another Ractor than the
    # main one, which alone can call the library.
    STATES = {}.compare_by_identity
    LEFT = [false]

    # The pointer, the function that frees it, and whether it was left; empty when it is closed.
    # Ractor.make_shareable() fails for a handle, but freezes what it finds before the pointer.
    class State < Array
      def freeze
        self
      end
    end
    private_constant :STATES, :LEFT, :State

    # In a method of the class, so that the procedure does not refer to the object.
    def self.finalizer(state, main, left)
      proc do
        if Ractor.current.equal?(main)
          release(state)
        elsif !state.empty?
          state[2] = left[0] = true
        end
      end
    end

    # An exception of another thread waits until the handle is freed.
    def self.release(state)
      Thread.handle_interrupt(Object => :never) do
        pointer, free = state.shift(3)
        if pointer
          STATES.delete(state)
          Dwarfs_native.public_send(free, pointer)
          Dwarfs_native.dwarfs_script_handles(-1)
        end
      end
    end

    def self.release_left
      return unless LEFT[0]
      LEFT[0] = false
      STATES.keys.each { |state| release(state) if state[2] }
    end

    def initialize(pointer, free)
      Handle.release_left
      @state = State[pointer, free, false]
      STATES[@state] = true
      ObjectSpace.define_finalizer(self, Handle.finalizer(@state, Ractor.current, LEFT))
      Dwarfs_native.dwarfs_script_handles(1)
    end

    # Raises if it is closed.
    def pointer
      @state.first || raise(Error.make(-2, +"the #{self.class.name[/\w+\z/].downcase} is closed",
                                       nil, nil, 0))
    end

    def close
      Handle.release(@state)
      nil
    end

    def closed?
      @state.empty?
    end

    private

    # A copy has the finalizer, too, which would free the handle of the original.
    def initialize_copy(_other)
      ObjectSpace.undefine_finalizer(self)
      @state = State[]
      raise TypeError, "a #{self.class} cannot be copied"
    end
  end

  # Attributes of an entry.
  class Stat < Struct.new(:inode, :mode, :uid, :gid, :size, :nlink, :mtime, :atime, :ctime)
    def directory?
      mode & 0o170000 == 0o040000
    end

    def file?
      mode & 0o170000 == 0o100000
    end

    def symlink?
      mode & 0o170000 == 0o120000
    end
  end

  # An open image: its entries in the order of the tree.
  class Image < Handle
    include Enumerable

    def initialize(pointer)
      super(pointer, :dwarfs_image_free)
    end

    # The entry of a path. Links in its directories are followed, with the image as root file
    # system; one that is the last name is not, unless that is asked for.
    def [](path, follow: false)
      path = File.path(path)
      number = follow ? Native.dwarfs_find_followed(pointer, path) : Native.dwarfs_script_find(pointer, path)
      Entry.new(self, number, Dwarfs.text(path.b.split("/").reject(&:empty?).join("/")))
    end

    def root
      self[""]
    end

    # Visits an entry and all below it, the root first.
    def each(start = "")
      return enum_for(:each, start) unless block_given?
      first = self[start]
      walk = Handle.create(:dwarfs_walk_free) do
        Native.dwarfs_walk_new(pointer, first.number, Native::DWARFS_WALK_TREE)
      end
      while (pointer; number = Native.dwarfs_script_next(walk.pointer))
        below = Dwarfs.text(Native.dwarfs_walk_path(walk.pointer))
        yield Entry.new(self, number, [first.path, below].reject(&:empty?).join("/"))
      end
      self
    ensure
      walk&.close
    end
    alias walk each

    def list(path = "")
      self[path, follow: true].list
    end

    # As File.stat: of what a link leads to.
    def stat(path)
      self[path, follow: true].stat
    end

    # As File.lstat: of a link itself.
    def lstat(path)
      self[path].stat
    end

    # As File.exist?: a link that leads nowhere does not exist.
    def exist?(path)
      pointer
      self[path, follow: true]
      true
    rescue Error => failure
      raise if closed? || ![-2, -9, -10].include?(failure.code)
      false
    end

    # A file; with a block it is given to that, and closed afterwards.
    def open(path, &block)
      self[path, follow: true].open(&block)
    end

    # As File.read and File.binread.
    def read(path)
      binread(path).force_encoding(Encoding.default_external)
    end

    def binread(path)
      path = File.path(path)
      native = pointer
      inode = Native.dwarfs_entry_inode(native, Native.dwarfs_find_followed(native, path))
      Error.for_path(path) { Native.dwarfs_script_load(native, inode) }
    end

    def readlink(path)
      self[path].readlink
    end

    # Of what a link leads to; image[path].xattrs has those of a link.
    def xattrs(path)
      self[path, follow: true].xattrs
    end

    # Verify all of it: returns 0, or raises the first error.
    def check
      Run.new(nil, nil).start do |run|
        Native.dwarfs_image_check(pointer, Native::DWARFS_CHECK_INTEGRITY, nil, run.task)
      end
    end

    def size
      Native.dwarfs_image_bytes(pointer)
    end

    # Extract to a directory, which is created if it is missing. Nothing is overwritten: an entry
    # that exists is an error. With patterns, such as "src/**/*.c" or "doc/", only what matches one
    # of them is extracted, with all below it. owners says whether to set them (by default when
    # the process is privileged), uid and gid set one for all; writers is how many more threads
    # write. Stops at the first entry that cannot be written, or with continue_on_error raises
    # its error at the end. progress and cancel are as for Dwarfs.pack.
    def extract(directory, patterns: [], owners: nil, uid: nil, gid: nil, xattrs: true,
                skip_devices: false, skip_specials: false, writers: 0,
                continue_on_error: false, progress: nil, cancel: nil)
      Run.new(progress, cancel).start do |run|
        extract = run.own(:dwarfs_extract_free) { Native.dwarfs_extract_new(pointer) }
        Array(patterns).each { |pattern| Native.dwarfs_extract_add_pattern(extract, pattern) }
        Native.dwarfs_extract_set_owners(extract, owners) unless owners.nil?
        Native.dwarfs_extract_set_uid(extract, Dwarfs.number(:uid, uid)) if uid
        Native.dwarfs_extract_set_gid(extract, Dwarfs.number(:gid, gid)) if gid
        Native.dwarfs_extract_set_xattrs(extract, xattrs)
        Native.dwarfs_extract_set_skip_devices(extract, skip_devices)
        Native.dwarfs_extract_set_skip_specials(extract, skip_specials)
        Native.dwarfs_extract_set_writers(extract, Dwarfs.number(:writers, writers))
        Native.dwarfs_extract_set_continue_on_error(extract, continue_on_error)
        Native.dwarfs_extract_set_task(extract, run.task)
        Native.dwarfs_extract_to_directory(extract, File.path(directory))
      end
      nil
    end

    # Write an archive, which replaces an existing file when it is complete. The format "auto" is
    # that of the suffix of the path, such as ".tar.zst" or ".zip"; others are "tar", "newc",
    # "zip" and what libarchive has. filters are such as "zstd"; settings are those of libarchive,
    # such as "compression-level=19". Files are in the order of their data, or with tree_order
    # below their directory. allow_huge_holes writes holes as zeros whatever their size. Other
    # options are as for extract; with continue_on_error the archive lacks what has failed.
    def export(path, format: "auto", filters: [], settings: nil, patterns: [], uid: nil, gid: nil,
               xattrs: true, tree_order: false, skip_devices: false, skip_specials: false,
               allow_huge_holes: false, continue_on_error: false, progress: nil, cancel: nil)
      order = tree_order ? Native::DWARFS_WALK_TREE : Native::DWARFS_WALK_DATA
      Run.new(progress, cancel).start do |run|
        export = run.own(:dwarfs_archive_export_free) { Native.dwarfs_archive_export_new(pointer) }
        Native.dwarfs_archive_export_set_format(export, format)
        Native.dwarfs_archive_export_set_filters(export, Array(filters).join(","))
        Native.dwarfs_archive_export_set_options(export, settings)
        Array(patterns).each { |one| Native.dwarfs_archive_export_add_pattern(export, one) }
        Native.dwarfs_archive_export_set_uid(export, Dwarfs.number(:uid, uid)) if uid
        Native.dwarfs_archive_export_set_gid(export, Dwarfs.number(:gid, gid)) if gid
        Native.dwarfs_archive_export_set_xattrs(export, xattrs)
        Native.dwarfs_archive_export_set_order(export, order)
        Native.dwarfs_archive_export_set_skip_devices(export, skip_devices)
        Native.dwarfs_archive_export_set_skip_specials(export, skip_specials)
        Native.dwarfs_archive_export_set_allow_huge_holes(export, allow_huge_holes)
        Native.dwarfs_archive_export_set_continue_on_error(export, continue_on_error)
        Native.dwarfs_archive_export_set_task(export, run.task)
        Native.dwarfs_archive_export_to_path(export, File.path(path))
      end
      nil
    end
  end

  # A place in the tree of an image.
  class Entry
    attr_reader :image, :path, :number

    def initialize(image, number, path)
      @image, @number, @path = image, number, path
    end

    alias to_s path

    def name
      Dwarfs.text(Dwarfs_native.dwarfs_entry_name(@image.pointer, @number))
    end

    def inode
      Dwarfs_native.dwarfs_entry_inode(@image.pointer, @number)
    end

    def stat
      *numbers, mtime, mtime_ns, atime, atime_ns, ctime, ctime_ns =
        Dwarfs_native.dwarfs_script_stat(@image.pointer, @number)
      Stat.new(*numbers, Time.at(mtime, mtime_ns, :nsec), Time.at(atime, atime_ns, :nsec),
               Time.at(ctime, ctime_ns, :nsec))
    end

    def directory?
      stat.directory?
    end

    def file?
      stat.file?
    end

    def symlink?
      stat.symlink?
    end

    # The entries of a directory.
    def list
      native, number = @image.pointer, inode
      first, count = Error.for_path(@path) { Dwarfs_native.dwarfs_dir_range(native, number) }
      Array.new(count) do |index|
        name = Dwarfs.text(Dwarfs_native.dwarfs_entry_name(@image.pointer, first + index))
        Entry.new(@image, first + index, @path.empty? ? name : "#{@path}/#{name}")
      end
    end

    def open(&block)
      native, number = @image.pointer, inode
      reader = Error.for_path(@path) do
        Reader.create { Dwarfs_native.dwarfs_file_open(native, number) }
      end
      Handle.using(reader, &block)
    end

    def read
      native, number = @image.pointer, inode
      data = Error.for_path(@path) { Dwarfs_native.dwarfs_script_load(native, number) }
      data.force_encoding(Encoding.default_external)
    end

    def readlink
      native, number = @image.pointer, inode
      Error.for_path(@path) { Dwarfs.text(Dwarfs_native.dwarfs_link_read(native, number)) }
    end

    # Names and values.
    def xattrs
      found, number, index = {}, inode, 0
      while (name, value = Dwarfs_native.dwarfs_script_xattr(@image.pointer, number, index))
        found[Dwarfs.text(name)] = value
        index += 1
      end
      found
    end
  end

  # An open file, with the methods of IO that read. Lines, characters and all the rest have the
  # external encoding, Encoding.default_external unless it is changed; read with a length gives
  # bytes.
  class Reader < Handle
    include Enumerable

    PIECE = 8192
    private_constant :PIECE

    # An integer of what Ruby takes for one; not of nil and strings.
    def self.integer(value)
      raise TypeError, "no implicit conversion of #{value.class} into Integer" unless value.respond_to?(:to_int)
      value.to_int
    end

    attr_reader :size, :external_encoding

    def initialize(pointer)
      super(pointer, :dwarfs_file_free)
      @size = Native.dwarfs_file_bytes(pointer)
      @position, @lineno = 0, 0
      drop_buffer
      @external_encoding = Encoding.default_external
    end

    def lineno
      pointer
      @lineno
    end

    def lineno=(number)
      pointer
      @lineno = Reader.integer(number)
    end

    def internal_encoding
      nil
    end

    def set_encoding(encoding)
      @external_encoding = Encoding.find(encoding || Encoding.default_external)
      self
    end

    def binmode
      set_encoding(Encoding::BINARY)
    end

    def binmode?
      @external_encoding == Encoding::BINARY
    end

    # As IO#pread, but without an EOFError: fewer bytes only at the end.
    def pread(length, offset, buffer = nil)
      native = pointer
      length, offset = Reader.integer(length), Reader.integer(offset)
      raise ArgumentError, "negative length or offset" if length < 0 || offset < 0
      length = [length, [@size - offset, 0].max].min
      data = length > 0 ? Native.dwarfs_script_read(native, offset, length) : "".b
      return data unless buffer
      raise TypeError, "no implicit conversion into String" unless buffer.respond_to?(:to_str)
      buffer.to_str.replace(data.force_encoding(buffer.to_str.encoding))
    end

    # As IO#read: all the rest without a length, nil at the end with one, and then the encoding of
    # the buffer is kept.
    def read(length = nil, buffer = nil)
      pointer
      length = Reader.integer(length) if length
      raise ArgumentError, "negative length #{length} given" if length && length < 0
      data = pushed(length)
      rest = length ? length - data.bytesize : [@size - @position - data.bytesize, 0].max
      if rest > 0
        more = pread(rest, @position + data.bytesize)
        data = data.empty? ? more : data << more
      end
      @position += data.bytesize
      data.force_encoding(@external_encoding) unless length
      buffer&.replace(length ? data.dup.force_encoding(buffer.encoding) : data)
      return nil if data.empty? && length && length > 0
      buffer || data
    end

    # As IO#readpartial, with EOFError at the end.
    def readpartial(length, buffer = nil)
      read(Reader.integer(length), buffer) || end_of_file
    end
    alias sysread readpartial

    # Never waits, as IO#read_nonblock of a file; nil at the end for an exception: false.
    def read_nonblock(length, buffer = nil, exception: true)
      read(Reader.integer(length), buffer) || (exception ? end_of_file : nil)
    end

    # gets(separator = $/, limit = nil, chomp: false), as IO#gets: a separator of nil reads all the
    # rest, one of "" paragraphs; the limit is in bytes, but a character is not divided. A limit also
    # holds in paragraphs, where IO exceeds it after a line of that length.
    def gets(*arguments, chomp: false)
      separator, limit = line_arguments(arguments)
      pointer
      return +"" if limit == 0
      skip_newlines if separator == ""
      ending = separator == "" ? "\n\n" : separator
      line = scan(ending, limit)
      skip_newlines if separator == ""
      return nil if line.empty?
      is_ended = ending && line.end_with?(ending)
      # As IO does: a part of a line is not counted.
      @lineno += 1 if is_ended || !limit || line.bytesize < limit
      line = separator == "" ? line.delete_suffix(ending) : line.chomp(separator) if chomp && is_ended
      line.force_encoding(@external_encoding)
    end

    def readline(*arguments, **options)
      gets(*arguments, **options) || end_of_file
    end

    def each_line(*arguments, **options)
      return enum_for(:each_line, *arguments, **options) unless block_given?
      raise ArgumentError, "invalid limit: 0" if line_arguments(arguments)[1] == 0
      while (line = gets(*arguments, **options))
        yield line
      end
      self
    end
    alias each each_line

    def readlines(*arguments, **options)
      each_line(*arguments, **options).to_a
    end

    def getbyte
      data = ahead(@position, 1)
      @position += data.bytesize
      data.getbyte(0)
    end

    def readbyte
      getbyte || end_of_file
    end

    def each_byte
      return enum_for(:each_byte) unless block_given?
      while (byte = getbyte)
        yield byte
      end
      self
    end

    # A character, or a byte that is none in the external encoding.
    def getc
      character = ahead(@position, 8).force_encoding(@external_encoding)[0]
      @position += character&.bytesize || 0
      character
    end

    def readchar
      getc || end_of_file
    end

    def each_char
      return enum_for(:each_char) unless block_given?
      while (character = getc)
        yield character
      end
      self
    end

    def each_codepoint
      return enum_for(:each_codepoint) unless block_given?
      each_char { |character| yield character.ord }
    end

    # As those of IO, they put bytes in front of the position, which moves back by them.
    def ungetbyte(data)
      pointer
      put_back(data.is_a?(Integer) ? [data & 255].pack("C") : String.try_convert(data)) if data
    end

    def ungetc(data)
      pointer
      put_back(data.is_a?(Integer) ? data.chr(@external_encoding) : String.try_convert(data))
    end

    WHENCE = { IO::SEEK_SET => :SET, IO::SEEK_CUR => :CUR, IO::SEEK_END => :END }.freeze
    private_constant :WHENCE

    def seek(offset, whence = IO::SEEK_SET)
      pointer
      from = { SET: 0, CUR: @position, END: @size }[WHENCE.fetch(whence, whence)]
      raise Errno::EINVAL, "unknown whence: #{whence}" if !from && whence.is_a?(Integer)
      raise ArgumentError, "unknown whence: #{whence}" unless from
      position = from + Reader.integer(offset)
      raise Errno::EINVAL, "seek to a negative offset" if position < 0
      drop_buffer
      @position = position
      0
    end

    def pos
      pointer
      @position
    end
    alias tell pos

    def pos=(offset)
      seek(offset)
    end

    def rewind
      @lineno = 0
      seek(0)
    end

    def eof?
      pos >= @size && pushed.empty?
    end
    alias eof eof?

    private

    def end_of_file
      raise EOFError, "end of file reached"
    end

    # The separator, as bytes, and the limit, or nil.
    def line_arguments(arguments)
      raise ArgumentError, "wrong number of arguments (given #{arguments.size}, expected 0..2)" if arguments.size > 2
      first, limit = arguments
      if arguments.size == 1 && first && !first.respond_to?(:to_str)
        first, limit = $/, first
      elsif arguments.empty?
        first = $/
      end
      limit &&= Reader.integer(limit)
      [first&.to_str&.b, limit && limit >= 0 ? limit : nil]
    end

    def drop_buffer
      @buffer, @start, @pushed_end = "".b, 0, nil
    end

    # Bytes at the position that were put back: all, or at most so many.
    def pushed(limit = nil)
      return "".b unless @pushed_end && @position < @pushed_end
      bytes = @pushed_end - @position
      @buffer.byteslice(@position - @start, limit ? [limit, bytes].min : bytes)
    end

    def put_back(data)
      raise TypeError, "no implicit conversion into String" unless data
      before = pushed
      @pushed_end = @position if before.empty?
      @position -= data.bytesize
      @buffer, @start = data.b + before, @position
      nil
    end

    # Bytes at a position, from a buffer: none only at the end.
    def ahead(position, bytes = PIECE)
      pointer
      from = position - @start
      unless from >= 0 && (from + bytes <= @buffer.bytesize || (bytes == PIECE && from < @buffer.bytesize))
        before = pushed
        @start = before.empty? ? position : @position
        from = position - @start
        @buffer = before + pread(from + PIECE, @start + before.bytesize)
      end
      @buffer.byteslice(from, bytes)
    end

    # The bytes up to a separator, a limit or the end.
    def scan(separator, limit)
      start, line = @position, +"".b
      until (piece = ahead(start + line.bytesize)).empty?
        from = separator ? [line.bytesize - separator.bytesize + 1, 0].max : 0
        line << piece
        found = separator && line.index(separator, from)
        line = line.byteslice(0, found + separator.bytesize) if found
        break if found || (limit && line.bytesize >= limit + 4)
      end
      line = limited(line, limit) if limit && line.bytesize > limit
      @position = start + line.bytesize
      line
    end

    # At most three bytes more than the limit, if they complete a character.
    def limited(line, limit)
      unless line.byteslice(0, limit).force_encoding(@external_encoding).valid_encoding?
        [1, 2, 3].product([1, 2, 3]) do |before, after|
          character = line.byteslice([limit - before, 0].max, before + after).force_encoding(@external_encoding)
          return line.byteslice(0, limit + after) if character.length == 1 && character.valid_encoding?
        end
      end
      line.byteslice(0, limit)
    end

    def skip_newlines
      @position += 1 while ahead(@position, 1) == "\n"
    end
  end
end
