# SPDX-License-Identifier: MIT
#
# What bench/bindings.py measures, in Perl:
#
#     read_all.pl TIMES LIST IMAGE
use strict;
use warnings;
use Dwarfs;

my ($times, $list, $path) = @ARGV;
$| = 1;
open(my $in, "<:raw", $list) or die "$list: $!";
chomp(my @paths = <$in>);

sub job {
    my ($name, $function) = @_;
    print "begin\tPerl\t$name\n";
    <STDIN>;
    print join("\t", "end", $function->()), "\n";
}

sub read_all {
    my $image = Dwarfs->open($path);
    my ($files, $bytes, $next) = (0, 0, $image->walk);
    while (defined(my $found = $next->())) {
        next if ($image->lstat($found)->{mode} & 0170000) != 0100000;
        $files++;
        $bytes += length $image->read($found);
    }
    return ($files, $bytes);
}

sub read_listed {
    my ($image, $bytes) = (Dwarfs->open($path), 0);
    $bytes += length $image->read($_) for @paths;
    return (scalar @paths, $bytes);
}

my $opened = Dwarfs->open($path);

sub stat_listed {
    my $bytes = 0;
    $bytes += $opened->stat($_)->{size} for @paths;
    return (scalar @paths, $bytes);
}

for (1 .. $times) {
    job("all", \&read_all);
    job("random", \&read_listed);
    job("stat", \&stat_listed);
}
