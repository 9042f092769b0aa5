# SPDX-License-Identifier: MIT
#
# Pack a directory, or print what is in an image:
#
#     ruby list_image.rb pack DIRECTORY IMAGE
#     ruby list_image.rb list IMAGE
#
# Backup files of editors are left out of images.
require "dwarfs"

begin
  if ARGV.size == 3 && ARGV[0] == "pack"
    Dwarfs.pack(ARGV[1], ARGV[2], level: 5) { |path| !path.b.end_with?("~") }
  elsif ARGV.size == 2 && ARGV[0] == "list"
    Dwarfs.open(ARGV[1]) do |image|
      image.select(&:file?).each { |entry| puts format("%8d %s", entry.stat.size, entry) }
    end
  else
    warn "usage: list_image.rb pack DIRECTORY IMAGE | list IMAGE"
    exit 2
  end
rescue Dwarfs::Error => e
  warn e.message
  exit 1
end
