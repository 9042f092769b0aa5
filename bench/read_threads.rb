# SPDX-License-Identifier: MIT
#
# What bench/threads.py measures, in Ruby; as read_threads.c.
#
#     read_threads.rb shared|own IMAGE LIST...
require "dwarfs"

MODE, IMAGE = ARGV
LISTS = ARGV.drop(2).map { |list| File.readlines(list, chomp: true) }
$stdout.sync = true

def read_listed(image, paths)
  paths.sum { |path| image.read(path).bytesize }
end

def read_own(paths)
  Dwarfs.open(IMAGE) { |image| read_listed(image, paths) }
end

def read_in_threads
  return LISTS.map { |paths| Thread.new { read_own(paths) } }.sum(&:value) if MODE == "own"
  Dwarfs.open(IMAGE) do |image|
    LISTS.map { |paths| Thread.new { read_listed(image, paths) } }.sum(&:value)
  end
end

puts "begin"
while $stdin.gets
  puts "end\t#{LISTS.sum(&:size)}\t#{read_in_threads}", "begin"
end
