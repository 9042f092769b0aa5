# SPDX-License-Identifier: MIT
#
# What bench/bindings.py measures, in Ruby:
#
#     read_all.rb TIMES LIST IMAGE
require "dwarfs"

TIMES, LIST, IMAGE = ARGV
PATHS = File.readlines(LIST, chomp: true)
$stdout.sync = true

def job(name)
  puts "begin\tRuby\t#{name}"
  $stdin.gets
  puts "end\t#{yield.join("\t")}"
end

def read_all
  Dwarfs.open(IMAGE) do |image|
    sizes = image.select(&:file?).map { |entry| entry.read.bytesize }
    [sizes.size, sizes.sum]
  end
end

def read_listed
  Dwarfs.open(IMAGE) { |image| [PATHS.size, PATHS.sum { |path| image.read(path).bytesize }] }
end

opened = Dwarfs.open(IMAGE)
TIMES.to_i.times do
  job("all") { read_all }
  job("random") { read_listed }
  job("stat") { [PATHS.size, PATHS.sum { |path| opened.stat(path).size }] }
end
