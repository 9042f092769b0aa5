# SPDX-License-Identifier: MIT

require "dwarfs_native"

# Read and write DwarFS images.
#
#   Dwarfs.pack("photos", "photos.dwarfs") { |path| !path.end_with?("~") }
#   Dwarfs.open("photos.dwarfs") do |image|
#     image.each { |entry| puts entry.path if entry.file? }
#     image.open("notes.txt") { |file| file.each_line { |line| puts line } }
#   end
#
# Paths are below the root of the image; those that are returned are UTF-8, with whatever bytes the
# image has. What fails raises Dwarfs::Error, also when a closed object is used. Walks and files
# keep their image open.
module Dwarfs
  # The failure of a call. The path and the offset in that file are nil if it has none.
  class Error < StandardError
    attr_reader :code, :path, :offset, :errno

    def self.make(code, message, path, offset, errno)
      new(message.force_encoding(Encoding::UTF_8)).set(code, path && Dwarfs.text(path), offset,
                                                        errno)
    end

    def set(code, path, offset, errno)
      @code, @path, @offset, @errno = code, path, offset, errno
      self
    end
  end

  Native = Dwarfs_native
  private_constant :Native
  @handles = 0

  class << self
    # How many handles of the library this process has open.
    attr_accessor :handles
    private :handles=

    # A path or bytes as a string that is UTF-8 if it is valid.
    def text(bytes)
      bytes.force_encoding(Encoding::UTF_8)
    end

    # An image in a file. With a block it is given to that, and closed afterwards.
    def open(path, &block)
      Handle.using(Image.new(Native.dwarfs_image_open(nil, File.path(path), nil)), &block)
    end

    # An image in a string, which is copied.
    def open_bytes(bytes, &block)
      io = Handle.new(Native.dwarfs_script_io(bytes), :dwarfs_io_free)
      image = Image.new(Native.dwarfs_image_open_io(nil, io.pointer, nil))
      Handle.using(image, &block)
    ensure
      io&.close
    end

    # Pack a directory. The block is called with a path, a mode and a size, and says whether to
    # include it; progress is called with a Hash. What they raise ends the run, leaves no image,
    # and is raised. cancel is called with each entry and report, and says whether to stop.
    def pack(directory, output, level: nil, overwrite: false, xattrs: nil, order: nil,
             compression: nil, progress: nil, cancel: nil, &include)
      run = Run.new(include, progress, cancel)
      task = Handle.new(Native.dwarfs_task_new, :dwarfs_task_free)
      builder = Handle.new(Native.dwarfs_builder_new(nil), :dwarfs_builder_free)
      native = builder.pointer
      on_progress, on_include = run.method(:report), run.method(:choose)
      Native.dwarfs_task_set_progress(task.pointer, on_progress)
      Native.dwarfs_builder_set_task(native, task.pointer)
      Native.dwarfs_builder_set_include(native, on_include)
      Native.dwarfs_builder_set_level(native, level) if level
      Native.dwarfs_builder_set_xattrs(native, xattrs) unless xattrs.nil?
      Native.dwarfs_builder_set_order(native, order) if order
      Native.dwarfs_builder_set_codec(native, Native::DWARFS_CODEC_BLOCKS, compression) if compression
      begin
        Native.dwarfs_builder_add_directory(native, File.path(directory))
        Native.dwarfs_builder_write_path(native, File.path(output), overwrite)
      rescue Error
        raise run.failure || $!
      end
      raise run.failure if run.failure
      nil
    ensure
      builder&.close
      task&.close
    end
  end

  # The callbacks of one run. An exception is kept, and stops it.
  class Run
    attr_reader :failure

    def initialize(include, progress, cancel)
      @include, @progress, @cancel = include, progress, cancel
    end

    def choose(input)
      guard do
        next 1 unless @include
        path = Dwarfs.text(Dwarfs_native.dwarfs_input_path(input))
        @include.call(path, Dwarfs_native.dwarfs_input_mode(input),
                      Dwarfs_native.dwarfs_input_bytes(input)) ? 1 : 0
      end
    end

    def report(now)
      guard do
        phase = Dwarfs_native.dwarfs_phase_name(Dwarfs_native.dwarfs_progress_phase(now))
        @progress&.call({ phase: phase,
                          done_bytes: Dwarfs_native.dwarfs_progress_number(now, 0),
                          total_bytes: Dwarfs_native.dwarfs_progress_number(now, 1),
                          done_items: Dwarfs_native.dwarfs_progress_number(now, 5) })
        0
      end
    end

    private

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

    # In a method of the class, so that the procedure does not refer to the object.
    def self.release(state)
      proc do
        pointer, free = state.shift(2)
        if pointer
          Dwarfs_native.public_send(free, pointer)
          Dwarfs.send(:handles=, Dwarfs.handles - 1)
        end
      end
    end

    def initialize(pointer, free)
      @state = [pointer, free]
      Dwarfs.send(:handles=, Dwarfs.handles + 1)
      @release = Handle.release(@state)
      ObjectSpace.define_finalizer(self, @release)
    end

    # Raises if it is closed.
    def pointer
      @state.first || raise(Error.make(-2, +"the #{self.class.name[/\w+\z/].downcase} is closed",
                                       nil, nil, 0))
    end

    def close
      @release.call
      nil
    end

    def closed?
      @state.empty?
    end

    private

    # A copy has the finalizer, too, which would free the handle of the original.
    def initialize_copy(_other)
      ObjectSpace.undefine_finalizer(self)
      @state = []
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

    # The entry of a path; a link is not followed unless that is asked for.
    def [](path, follow: false)
      number = follow ? Native.dwarfs_find_followed(pointer, path) : Native.dwarfs_find(pointer, path)
      Entry.new(self, number, Dwarfs.text(path.b.split("/").reject(&:empty?).join("/")))
    end

    def root
      self[""]
    end

    # Visits an entry and all below it, the root first.
    def each(start = "")
      return enum_for(:each, start) unless block_given?
      first = self[start]
      walk = Handle.new(Native.dwarfs_walk_new(pointer, first.number, Native::DWARFS_WALK_TREE),
                        :dwarfs_walk_free)
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

    def stat(path)
      self[path, follow: true].stat
    end

    def exist?(path)
      self[path]
      true
    rescue Error => failure
      raise unless [-9, -10].include?(failure.code)
      false
    end

    # A file; with a block it is given to that, and closed afterwards.
    def open(path, &block)
      self[path, follow: true].open(&block)
    end

    def read(path)
      self[path, follow: true].read
    end

    def readlink(path)
      self[path].readlink
    end

    def xattrs(path)
      self[path].xattrs
    end

    # Verify all of it: returns 0, or raises the first error.
    def check
      Native.dwarfs_image_check(pointer, Native::DWARFS_CHECK_INTEGRITY, nil, nil)
    end

    def size
      Native.dwarfs_image_bytes(pointer)
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
      first, count = Dwarfs_native.dwarfs_dir_range(@image.pointer, inode)
      Array.new(count) do |index|
        name = Dwarfs.text(Dwarfs_native.dwarfs_entry_name(@image.pointer, first + index))
        Entry.new(@image, first + index, @path.empty? ? name : "#{@path}/#{name}")
      end
    end

    def open(&block)
      Handle.using(Reader.new(Dwarfs_native.dwarfs_file_open(@image.pointer, inode)), &block)
    end

    def read
      self.open(&:read)
    end

    def readlink
      Dwarfs.text(Dwarfs_native.dwarfs_link_read(@image.pointer, inode))
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

  # An open file, with the methods of IO that read bytes.
  class Reader < Handle
    include Enumerable

    PIECE = 8192
    private_constant :PIECE

    attr_reader :size

    def initialize(pointer)
      super(pointer, :dwarfs_file_free)
      @size = Native.dwarfs_file_bytes(pointer)
      @position = 0
    end

    # As IO#pread, but without an EOFError: fewer bytes only at the end.
    def pread(length, offset)
      native = pointer
      raise ArgumentError, "negative length or offset" if length < 0 || offset < 0
      return +"".b if offset >= @size
      Native.dwarfs_script_read(native, offset, [length, @size - offset].min)
    end

    # As IO#read: all the rest without a length, nil at the end with one.
    def read(length = nil, buffer = nil)
      data = pread(length || [@size - @position, 0].max, @position)
      @position += data.bytesize
      buffer&.replace(data)
      return nil if data.empty? && length && length > 0
      buffer || data
    end

    # As IO#gets, by bytes: nil reads all the rest.
    def gets(separator = $/)
      raise ArgumentError, "an empty separator" if separator&.empty?
      return read.then { |rest| rest.empty? ? nil : rest } if separator.nil?
      separator = separator.b
      line, start = +"".b, @position
      until (data = pread(PIECE, start + line.bytesize)).empty?
        from = [line.bytesize - separator.bytesize + 1, 0].max
        line << data
        if (found = line.index(separator, from))
          line = line.byteslice(0, found + separator.bytesize)
          break
        end
      end
      @position = start + line.bytesize
      line.empty? ? nil : line
    end

    def each_line(separator = $/)
      return enum_for(:each_line, separator) unless block_given?
      while (line = gets(separator))
        yield line
      end
      self
    end
    alias each each_line

    def readlines(separator = $/)
      each_line(separator).to_a
    end

    def getbyte
      read(1)&.getbyte(0)
    end

    def seek(offset, whence = IO::SEEK_SET)
      pointer
      from = { IO::SEEK_SET => 0, IO::SEEK_CUR => @position, IO::SEEK_END => @size }.fetch(whence)
      raise Errno::EINVAL, "seek to a negative offset" if from + offset < 0
      @position = from + offset
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
      seek(0)
    end

    def eof?
      pos >= @size
    end
  end
end
