#!/usr/bin/env perl
# SPDX-License-Identifier: MIT
#
# Pack a directory without backup files, or list an image:
#
#     list_image.pl pack DIRECTORY IMAGE
#     list_image.pl list IMAGE
use strict;
use warnings;
use Dwarfs;

my ($command, @arguments) = @ARGV;
if (($command // "") eq "pack" && @arguments == 2) {
    Dwarfs::pack(@arguments, include => sub { $_[0] !~ /~$/ });
} elsif (($command // "") eq "list" && @arguments == 1) {
    my $image = Dwarfs->open($arguments[0]);
    my $next = $image->walk;
    while (defined(my $path = $next->())) {
        printf "%8d %s\n", $image->lstat($path)->{size}, $path;
    }
} else {
    die "usage: list_image.pl pack DIRECTORY IMAGE | list IMAGE\n";
}
