# SPDX-License-Identifier: MIT
#
# The cases of test_scenarios.py in Perl.
use strict;
use warnings;
use Config;
use Dwarfs;

my $folder = $ARGV[0];
my ($tree, $path) = ("$folder/tree", "$folder/x.dwarfs");
$| = 1;

sub same {
    my ($got, $wanted) = @_;
    $got = "undef" if !defined $got;
    die "'$got', not '$wanted'\n" if $got ne $wanted;
}

sub fails {
    my ($function) = @_;
    my $ended = eval { $function->(); 1 };
    die "nothing was raised\n" if $ended;
    return $@;
}

sub case {
    my ($name, $function) = @_;
    print eval { $function->(); 1 } ? "ok $name\n" : "not ok $name: " . ($@ =~ s/\n/ /gr) . "\n";
}

sub slurp {
    open(my $in, "<:raw", $_[0]) or die "$_[0]: $!";
    local $/;
    return scalar <$in>;
}

sub resident {
    return slurp("/proc/self/statm") =~ /^\d+ (\d+)/ ? $1 * 4096 : 0;
}

case "pack", sub {
    Dwarfs::pack($tree, $path, level => 1, xattrs => 1);
    my $failure = fails(sub { Dwarfs::pack($tree, $path) });
    same($failure->code, -12);
};
case "callback chooses", sub {
    my @seen;
    Dwarfs::pack($tree, "$folder/c.dwarfs",
        include => sub { push @seen, "$_[0]:$_[2]"; $_[0] !~ /~$/ });
    same(scalar(grep { $_ eq "a.txt:18" } @seen), 1);
    same(scalar(grep { /~$/ } Dwarfs->open("$folder/c.dwarfs")->list), 0);
};
case "callback raises", sub {
    same(fails(sub { Dwarfs::pack($tree, "$folder/r.dwarfs", include => sub { die "mine\n" }) }),
        "mine\n");
    same(fails(sub { Dwarfs::pack($tree, "$folder/r.dwarfs", progress => sub { die { a => 5 } }) })
            ->{a}, 5);
    same(-e "$folder/r.dwarfs" ? 1 : 0, 0);
};
case "progress", sub {
    my @phases;
    Dwarfs::pack($tree, "$folder/p.dwarfs", progress => sub { push @phases, $_[0] });
    same($phases[-1]{phase}, "done");
    same($phases[-1]{done_bytes} > 0 ? 1 : 0, 1);
};
case "cancel", sub {
    my $cancel = 0;
    my $failure = fails(sub {
        Dwarfs::pack($tree, "$folder/k.dwarfs", cancel => \$cancel,
            include => sub { $cancel = 1 });
    });
    same($failure->code, -15);
};

my $image;
case "open path", sub { $image = Dwarfs->open($path); same($image->check, 0) };
case "open bytes", sub {
    my $copy = Dwarfs->open_bytes(slurp($path));
    same($copy->read("a.txt"), "first\nsecond\nthird");
};
case "stat", sub {
    my $stat = $image->stat("a.txt");
    same($stat->{size}, 18);
    same($stat->{mtime}, (CORE::stat("$tree/a.txt"))[9]);
    same($stat->{mode}, (CORE::stat("$tree/a.txt"))[2]);
};
case "list", sub {
    same(join(" ", sort $image->list), "a.txt link skip~ sub \xff\xfe");
    same(join(" ", $image->list("sub")), "b.bin");
    same(fails(sub { $image->list("a.txt") })->code, -10);
};
case "walk", sub {
    my ($next, @paths) = $image->walk;
    while (defined(my $found = $next->())) { push @paths, $found }
    same(join("|", sort @paths), "|a.txt|link|skip~|sub|sub/b.bin|\xff\xfe");
    same(defined $next->() ? 1 : 0, 0);
};
case "bytes in names", sub {
    same($image->read("\xff\xfe"), "bytes");
    fails(sub { $image->stat("\x{263a}") });
    fails(sub { $image->stat("a.txt\0") });
};
case "pread", sub {
    my $file = $image->open("sub/b.bin");
    same($file->pread(3, 255), "\xff\x00\x01");
    same(length $file->pread(1 << 40, 255_990), 10);
    same($file->pread(1, 1 << 40), "");
};
case "seek", sub {
    my $file = $image->open("sub/b.bin");
    same($file->seek(-2, 2), 1);
    same($file->read(my $data, 10), 2);
    same($data, "\xfe\xff");
    same($file->eof ? 1 : 0, 1);
    same($file->seek(-1, 0), 0);
    same($file->tell, 256_000);
};
case "lines", sub {
    my $file = $image->open("a.txt");
    same($file->getline, "first\n");
    same(join("|", $file->getlines), "second\n|third");
    same(defined $file->getline ? 1 : 0, 0);
};
case "xattr", sub {
    my $attributes = $image->xattrs("a.txt");
    same($attributes->{"user.note"}, "v\0w");
    same(scalar(grep { /^user\./ } keys %{ $image->xattrs("sub") }), 0);
};
case "link target", sub {
    same($image->readlink("link"), "sub/b.bin");
    same($image->open("link")->size, 256_000);
};
case "missing file", sub {
    my $failure = fails(sub { $image->open("sub/none") });
    same(ref $failure, "Dwarfs::Error");
    same($failure->code, -9);
    same($failure->path, "sub/none");
    same("$failure" =~ /none/ ? 1 : 0, 1);
    same(fails(sub { Dwarfs->open("$folder/none") })->errno, 2);
};
case "not an image", sub {
    same(fails(sub { Dwarfs->open("$tree/a.txt") })->code, -7);
    same(fails(sub { Dwarfs->open_bytes("") })->code, -7);
};
case "damaged image", sub {
    my $bytes = slurp($path);
    substr($bytes, 80, 1) = chr(ord(substr($bytes, 80, 1)) ^ 1);
    open(my $out, ">:raw", "$folder/d.dwarfs") or die;
    print $out $bytes;
    close $out;
    my $failure = fails(sub { Dwarfs->open("$folder/d.dwarfs")->read("sub/b.bin") });
    same($failure->code, -6);
    same($failure->offset, 0);
    same(fails(sub { Dwarfs->open("$folder/d.dwarfs")->check })->code, -6);
    truncate("$folder/d.dwarfs", length($bytes) - 1) or die;
    $failure = fails(sub { Dwarfs->open("$folder/d.dwarfs") });
    same($failure->code, -5);
    same($failure->path, "$folder/d.dwarfs");
    same($failure->offset > 0 ? 1 : 0, 1);
};
case "wrong type", sub {
    fails(sub { Dwarfs::Native::dwarfs_image_bytes($image->open("a.txt")->{pointer}) });
    fails(sub { Dwarfs::Native::dwarfs_image_bytes("text") });
    fails(sub { Dwarfs::Native::dwarfs_image_bytes() });
    fails(sub { Dwarfs::pack($tree, "$folder/w.dwarfs", no_option => 1) });
};
case "use after close", sub {
    my $closed = Dwarfs->open($path);
    my $file = $closed->open("a.txt");
    $_->close for $closed, $file, $closed, $file;
    same(fails(sub { $closed->list })->message, "the handle is closed");
    same(fails(sub { $closed->stat("a.txt") })->code, -2);
    fails(sub { $file->pread(1, 0) });
    fails(sub { $file->size });
};
case "children keep parents", sub {
    my $parent = Dwarfs->open($path);
    my ($file, $next) = ($parent->open("a.txt"), $parent->walk);
    undef $parent;
    same($file->pread(5, 0), "first");
    same($next->(), "");
    same(defined $next->() ? 1 : 0, 1);
};
case "open and close", sub {
    my ($bytes, $before) = (slurp($path), 0);
    for my $i (1 .. 10_000) {
        my $opened = Dwarfs->open_bytes($bytes);
        $opened->close if $i % 2;
        $before = resident() if $i == 2000;
    }
    my $more = resident() - $before;
    die "$more bytes more\n" if $more > 4 << 20;
};
case "threads", sub {
    if ($Config{useithreads}) {
        require threads;
        my $thread = threads->create(sub { Dwarfs->open($path)->read("a.txt") });
        same($thread->join, "first\nsecond\nthird");
    }
    same($image->stat("a.txt")->{size}, 18);
};
case "handles", sub { undef $image; same(Dwarfs::handles(), 0) };
