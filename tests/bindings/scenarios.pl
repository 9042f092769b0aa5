# SPDX-License-Identifier: MIT
#
# The cases of test_scenarios.py in Perl. A second argument is how often to open and close, a
# smaller number for a run under valgrind.
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
    my $handles = Dwarfs::handles();
    my $leave = sub {
        my ($out) = @_;
        OUTER: for my $once (1) {
            my $failure = fails(sub { Dwarfs::pack($tree, "$folder/r.dwarfs", include => $out) });
            same($failure =~ /outside a loop block|abel/ ? 1 : 0, 1);
            return;
        }
        die "the loop was left";
    };
    no warnings "exiting";
    $leave->($_) for sub { last }, sub { next }, sub { redo }, sub { last OUTER }, sub { goto OUTER };
    same(Dwarfs::handles(), $handles);
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
    if ($Config{useithreads}) {
        require threads;
        require threads::shared;
        threads::shared::share(\(my $shared = 0));
        my $calls = 0;
        my $include = sub {
            threads->create(sub { $shared = 1 })->join if !$calls++;
            return 1;
        };
        $failure = fails(sub {
            Dwarfs::pack($tree, "$folder/k.dwarfs", cancel => \$shared, include => $include);
        });
        same($failure->code, -15);
        same($calls, 1);
    }
    same(-e "$folder/k.dwarfs" ? 1 : 0, 0);
};
case "signal", sub {
    my $handles = Dwarfs::handles();
    local $SIG{USR1} = sub { die { signal => $_[0] } };
    for my $name (qw(include progress)) {
        my $failure = fails(sub {
            Dwarfs::pack($tree, "$folder/k.dwarfs", $name => sub { kill USR1 => $$; 1 });
        });
        same($failure->{signal}, "USR1");
    }
    my $check = fails(sub {
        my $opened = Dwarfs->open($path);
        no warnings "redefine";
        local *Dwarfs::Run::report = sub { kill USR1 => $$; 0 };
        $opened->check;
    });
    same($check->{signal}, "USR1");
    # Outside of what the layer catches.
    my $task = Dwarfs::Native::dwarfs_task_new();
    my $builder = Dwarfs::Native::dwarfs_builder_new(undef);
    my $include = sub { kill USR1 => $$; 1 };
    Dwarfs::Native::dwarfs_builder_set_include($builder, $include);
    my $failure = fails(sub {
        Dwarfs::Native::dwarfs_composed_add_path($builder, $tree, 1, $task);
        Dwarfs::Native::dwarfs_builder_write_path($builder, "$folder/k.dwarfs", 0);
    });
    Dwarfs::Native::dwarfs_builder_free($builder);
    Dwarfs::Native::dwarfs_task_free($task);
    same($failure->{signal}, "USR1");
    same(Dwarfs::handles(), $handles);
    same(-e "$folder/k.dwarfs" ? 1 : 0, 0);
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
    same(length $file->pread(1e30, 255_990), 10);
    for my $bad (-1, -(1 << 62), -1e300, "nan" + 0, undef, "abc", [], {}) {
        same(fails(sub { $file->pread($bad, 0) })->code, -2);
        same(fails(sub { $file->pread(1, $bad) })->code, -2);
        same(fails(sub { Dwarfs::Native::dwarfs_entry_name($image->{pointer}, $bad) })->code, -2);
    }
    fails(sub { $file->read(my $data, -1) });
    fails(sub { Dwarfs::Native::dwarfs_file_bytes($_) }) for undef, "a.txt", {}, \*STDIN, $image->{pointer};
    fails(sub { Dwarfs::Native::dwarfs_entry_name($image->{pointer}, 1 << 32) });
};
case "seek", sub {
    my $file = $image->open("sub/b.bin");
    same($file->seek(-2, 2), 1);
    same($file->read(my $data, 10), 2);
    same($data, "\xfe\xff");
    same($file->eof ? 1 : 0, 1);
    same($file->seek(-1, 0) ? 1 : 0, 0);
    same($file->seek(1, 7) ? 1 : 0, 0);
    same($!{EINVAL} ? 1 : 0, 1);
    same($file->tell, 256_000);
    same($file->seek(-1, 1), 1);
    same($file->getc, "\xff");
    same(defined $file->getc ? 1 : 0, 0);
    same($file->seek(300_000, 0), 1);
    same($file->read($data, 1), 0);
    same($file->seek(255, 0), 1);
    same($file->sysread($data, 2, 1), 2);
    same($data, "\0\xff\0");
    same(tell($file), 257);
};
case "lines", sub {
    my $file = $image->open("a.txt");
    same($file->getline, "first\n");
    same(join("|", $file->getlines), "second\n|third");
    same(defined $file->getline ? 1 : 0, 0);
    seek($file, 0, 0);
    { local $/ = \4; same(join("|", <$file>), "firs|t\nse|cond|\nthi|rd"); }
    seek($file, 0, 0);
    { local $/ = "d\n"; same(scalar <$file>, "first\nsecond\n"); }
    { local $/; same(scalar <$file>, "third"); }
};
# What any file handle does: compared with that of the same bytes.
case "file handle", sub {
    my $text = "\n\n\none\ntwo\n\n\n\nthree\n" . ("x" x 5_000_000) . "\n\xc3\xa9\n";
    mkdir "$folder/text" or die;
    open(my $out, ">:raw", "$folder/text/t") or die;
    print $out $text;
    close $out;
    Dwarfs::pack("$folder/text", "$folder/t.dwarfs", level => 1);
    my $opened = Dwarfs->open("$folder/t.dwarfs");
    for my $separator ("\n", "", undef, \7, "wo\n\n", "none") {
        local $/ = $separator;
        open(my $plain, "<:raw", "$folder/text/t") or die;
        my ($file, @ends) = ($opened->open("t"));
        my (@wanted, @got) = <$plain>;
        push @got, $_ while <$file>;
        same(scalar @got, scalar @wanted);
        same($got[$_] eq $wanted[$_] ? 1 : 0, 1) for 0 .. $#wanted;
        same($file->input_line_number, $plain->input_line_number);
    }
    my $file = $opened->open("t");
    same($file->isa("IO::Handle") && $file->opened && !tied(*$file) ? 1 : 0, 1);
    same($file->fileno, -1);
    same($file->binmode(":encoding(UTF-8)") ? 1 : 0, 1);
    seek($file, -3, 2);
    same(ord getc($file), 0xe9);
    binmode($file);
    $file->ungetc(ord "y");
    same($file->getc, "y");
    same($file->error, 0);
    same(sysread($file, my $data, 1) // "undef", "undef");
    { no warnings; same(print($file "x") ? 1 : 0, 0); }
    my $handles = Dwarfs::handles();
    same(close($file) ? 1 : 0, 1);
    same(Dwarfs::handles(), $handles - 1);
    same(defined $file->opened && $file->opened ? 1 : 0, 0);
    { $opened->open("t")->getline for 1 .. 10; }
    same(Dwarfs::handles(), $handles - 1);
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
case "links", sub {
    Dwarfs::pack("$folder/links", "$folder/l.dwarfs");
    my $links = Dwarfs->open("$folder/l.dwarfs");
    for my $path (qw(through/file through/../through/file through/up absolute /through//file/)) {
        same($links->read($path), "text") if $path !~ m(/$);
        same($links->stat($path)->{size}, 4);
    }
    my $type = sub { sprintf "%o", $_[0]{mode} & 0170000 };
    same($type->($links->lstat($_)), "120000") for qw(through through/up absolute dangling circle);
    same($type->($links->$_("through/file")), "100000") for qw(stat lstat);
    same($type->($links->stat("through")), "40000");
    same($type->($links->lstat("through/.")), "40000");
    same($links->readlink("through/up"), "../dir/file");
    same($links->readlink("through"), "dir");
    same(join(" ", sort $links->list("through")), "file up");
    same(scalar keys %{ $links->$_("through/up") }, 0) for qw(xattrs lxattrs);
    my $next = $links->walk("through/file");
    same($next->(), "");
    same(defined $next->() ? 1 : 0, 0);
    same(fails(sub { $links->stat("dangling") })->code, -9);
    same(fails(sub { $links->stat("circle") })->code, -2);
    my $failure = fails(sub { $links->lstat("through/none") });
    same($failure->code, -9);
    same($failure->path, "through/none");
    same(fails(sub { $links->lstat("dir/file/none") })->code, -10);
    same(fails($_)->code, -2) for sub { $links->lstat(undef) }, sub { $links->stat(undef) };
};
case "missing file", sub {
    for my $case (
        [sub { $image->read("sub") }, "sub", "'sub' is a directory"],
        [sub { $image->open("/sub/") }, "/sub/", "'/sub/' is a directory"],
        [sub { $image->list("a.txt") }, "a.txt", "'a.txt' is not a directory"],
        [sub { $image->readlink("a.txt") }, "a.txt", "'a.txt' is not a link"])
    {
        my $wrong = fails($case->[0]);
        same($wrong->path, $case->[1]);
        same($wrong->message, $case->[2]);
    }
    my $failure = fails(sub { $image->open("sub/none") });
    same($failure->message, "'sub/none' does not exist");
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
    same($failure->path, "$folder/d.dwarfs");
    same($failure->message =~ m(^'sub/b\.bin': .) ? 1 : 0, 1);
    my $file = Dwarfs->open("$folder/d.dwarfs")->open("sub/b.bin");
    $failure = fails(sub { my $line = <$file> });
    same($failure->code, -6);
    same($file->error, 1);
    $file->clearerr;
    same(fails(sub { read($file, my $data, 5) })->code, -6);
    close($file);
    same(fails(sub { Dwarfs->open("$folder/d.dwarfs")->check })->code, -6);
    truncate("$folder/d.dwarfs", length($bytes) - 1) or die;
    $failure = fails(sub { Dwarfs->open("$folder/d.dwarfs") });
    same($failure->code, -5);
    same($failure->path, "$folder/d.dwarfs");
    same($failure->offset > 0 ? 1 : 0, 1);
};
case "extract", sub {
    my ($copy, $last) = ("$folder/extracted");
    $image->extract($copy, patterns => "sub/", xattrs => 0);
    same(-e "$copy/a.txt" ? 1 : 0, 0);
    same(-s "$copy/sub/b.bin", 256_000);
    my $failure = fails(sub { $image->extract($copy, patterns => ["sub/"]) });
    same($failure->code, -12);
    same($failure->path =~ m(sub/b\.bin$) ? 1 : 0, 1);
    $image->extract("${copy}2", continue_on_error => 1, progress => sub { $last = $_[0] });
    same($last->{phase}, "done");
    same(scalar(Dwarfs::compare($image, "${copy}2")), 0);
    same(fails(sub { $image->extract("${copy}3", progress => sub { die "mine\n" }) }), "mine\n");
    same(fails(sub { $image->extract("${copy}4", cancel => \1) })->code, -15);
    same(fails(sub { $image->extract("${copy}5", patterns => "[") })->code, -2);
    same(fails(sub { $image->extract("$folder/no/copy") })->code, -9);
    fails(sub { $image->extract });
    fails(sub { $image->extract({}) });
    same(fails(sub { $image->extract($copy, no_option => 1) }), "unknown option 'no_option'\n");
};
case "export", sub {
    my ($tar, $stopped) = ("$folder/x.tar", "$folder/k.tar");
    $image->export($tar, format => "ustar", filters => ["gzip"], patterns => "sub/",
        tree_order => 1, xattrs => 0, settings => "");
    same(substr(slurp($tar), 0, 2), "\x1f\x8b");
    $image->export($tar);
    same(slurp($tar) =~ /ustar/ ? 1 : 0, 1);
    same(fails(sub { $image->export("$folder/x.unknown") })->code, -2);
    same(fails(sub { $image->export($tar, format => "none") })->code, -2);
    same(fails(sub { $image->export($stopped, cancel => \1) })->code, -15);
    same(fails(sub { $image->export($stopped, progress => sub { die "mine\n" }) }), "mine\n");
    same(-e $stopped ? 1 : 0, 0);
    fails(sub { $image->export(undef) });
};
case "import", sub {
    my ($tar, $imported, $none, %phases) = ("$folder/x.tar", "$folder/i.dwarfs", "$folder/w.dwarfs");
    Dwarfs::pack($tar, $imported, level => 1, progress => sub { $phases{ $_[0]{phase} } = 1 });
    same($phases{reading}, 1);
    same(scalar(Dwarfs::compare($path, $imported)), 0);
    mkdir "$folder/more" or die;
    open(my $out, ">", "$folder/more/a.txt") or die;
    print $out "other";
    close $out;
    Dwarfs::pack([$tar, $image, "$folder/c.dwarfs", "$folder/more"], $imported, overwrite => 1);
    my $merged = Dwarfs->open($imported);
    same($merged->read("a.txt"), "other");
    same($merged->read("skip~"), "old");
    same(scalar(my @names = $merged->list), 5);
    same(fails(sub { Dwarfs::pack("$tree/a.txt", $none) })->code, -8);
    same(fails(sub { Dwarfs::pack([$tar, "$folder/none"], $none) })->code, -9);
    same(fails(sub { Dwarfs::pack($tar, $none, cancel => \1) })->code, -15);
    same(fails(sub { Dwarfs::pack($tar, $none, progress => sub { die "mine\n" }) }), "mine\n");
    fails(sub { Dwarfs::pack([], $none) });
    fails(sub { Dwarfs::pack([{}], $none) });
    fails(sub { Dwarfs::pack(undef, $none) });
    same(-e $none ? 1 : 0, 0);
};
case "compare", sub {
    same(scalar(Dwarfs::compare($image, $tree)), 0);
    my @found = Dwarfs::compare($image, "$folder/i.dwarfs", ignore => ["mtime", "xattr"]);
    same(join("|", map { "$_->{path} $_->{a} $_->{b}" } grep { $_->{kind} eq "size" } @found),
        "a.txt 18 5");
    @found = Dwarfs::compare($path, "$folder/c.dwarfs", ignore => "mtime");
    same("$found[0]{kind} $found[0]{path}", "only-a skip~");
    same(defined $found[0]{name} || defined $found[0]{b} ? 1 : 0, 0);
    same(scalar(Dwarfs::compare($image, $image, time_resolution_ns => 1)), 0);
    same(fails(sub { Dwarfs::compare($image, "$folder/none") })->code, -9);
    same(fails(sub { Dwarfs::compare($image, $tree, cancel => \1) })->code, -15);
    fails(sub { Dwarfs::compare($image, $tree, ignore => "nothing") });
    fails(sub { Dwarfs::compare($image) });
    fails(sub { Dwarfs::compare({}, $image) });
};
case "rewrite", sub {
    my ($output, $none, $count) = ("$folder/rewritten.dwarfs", "$folder/w.dwarfs", 0);
    Dwarfs::rewrite($image, $output, compression => "null", progress => sub { $count++ });
    same($count > 0 ? 1 : 0, 1);
    same(scalar(Dwarfs::compare($path, $output)), 0);
    my $before = -s $output;
    Dwarfs::rewrite($output, $output, level => 5, block_bits => 16, change_block_size => 1,
        overwrite => 1);
    same(-s $output < $before ? 1 : 0, 1);
    same(scalar(Dwarfs::compare($path, $output)), 0);
    open(my $out, ">:raw", "$folder/header.dwarfs") or die;
    print $out "#!/bin/sh\n" . slurp($output);
    close $out;
    Dwarfs::rewrite("$folder/header.dwarfs", $output, blocks => 0, overwrite => 1);
    same(substr(slurp($output), 0, 16), "#!/bin/sh\nDWARFS");
    my $closed = Dwarfs->open($path);
    Dwarfs::rewrite($closed, $output, overwrite => 1, progress => sub { $closed->close });
    same(scalar(Dwarfs::compare($path, $output)), 0);
    same(fails(sub { Dwarfs::rewrite($image, $output) })->code, -12);
    same(fails(sub { Dwarfs::rewrite($image, $none, categories => "none") })->code, -2);
    same(fails(sub { Dwarfs::rewrite($image, $none, cancel => \1) })->code, -15);
    same(fails(sub { Dwarfs::rewrite("$tree/a.txt", $none) })->code, -7);
    fails(sub { Dwarfs::rewrite($image, $none, no_option => 1) });
    fails(sub { Dwarfs::rewrite(undef, $none) });
    same(-e $none ? 1 : 0, 0);
};
case "wrong type", sub {
    no warnings "numeric";    # of SWIG
    fails(sub { Dwarfs::Native::dwarfs_image_bytes($image->open("a.txt")) });
    fails(sub { Dwarfs::Native::dwarfs_image_bytes("text") });
    fails(sub { Dwarfs::Native::dwarfs_image_bytes() });
    same(fails(sub { $image->status(1 << 30) })->code, -3);
    fails(sub { Dwarfs::pack($tree, "$folder/w.dwarfs", no_option => 1) });
    for my $case (
        [level => "abc", "level must be a whole number from 0 on, not 'abc'\n"],
        [level => 2.5, "level must be a whole number from 0 on, not '2.5'\n"],
        [block_bits => -1, "block_bits must be a whole number from 0 on, not '-1'\n"],
        [level => 1e12, "level is too large: 1000000000000\n"],
        [include => 3, "include must be a code reference\n"],
        [progress => {}, "progress must be a code reference\n"])
    {
        my ($name, $value, $message) = @$case;
        same(fails(sub { Dwarfs::pack($tree, "$folder/w.dwarfs", $name => $value) }), $message);
    }
    for my $call (sub { Dwarfs::pack($tree, "$folder/w.dwarfs", "level") },
        sub { $image->extract("$folder/w", "owners") }, sub { Dwarfs::compare($tree, $image, 1) })
    {
        same(fails($call) =~ /: options are pairs of a name and a value at .*scenarios/ ? 1 : 0, 1);
    }
    same(fails($_)->message, "a path is needed") for sub { Dwarfs->open(undef) },
        sub { $image->open(undef) };
};
case "use after close", sub {
    my $closed = Dwarfs->open($path);
    my $file = $closed->open("a.txt");
    $_->close for $closed, $file, $closed, $file;
    same(fails(sub { $closed->list })->message, "the handle is closed");
    same(fails(sub { $closed->stat("a.txt") })->code, -2);
    same(fails($_)->code, -2) for sub { $closed->extract("$folder/w") },
        sub { $closed->export("$folder/w.tar") }, sub { Dwarfs::compare($tree, $closed) },
        sub { Dwarfs::pack([$tree, $closed], "$folder/w.dwarfs") },
        sub { Dwarfs::rewrite($closed, "$folder/w.dwarfs") };
    fails(sub { $file->pread(1, 0) });
    same(fails($_)->code, -2) for sub { $file->size }, sub { $file->getline }, sub { $file->tell },
        sub { $file->eof }, sub { $file->read(my $data, 1) }, sub { $file->seek(0, 0) };
    no warnings "closed", "unopened";
    same(defined readline($file) ? 1 : 0, 0);
    same(tell($file), -1);
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
    my $times = $ARGV[1] // 10_000;
    for my $i (1 .. $times) {
        my $opened = Dwarfs->open_bytes($bytes);
        $opened->close if $i % 2;
        $before = resident() if $i == int($times / 5);
    }
    return if $times < 10_000;
    my $more = resident() - $before;
    die "$more bytes more\n" if $more > 4 << 20;
};
case "threads", sub {
    if ($Config{useithreads}) {
        require threads;
        my $file = $image->open("a.txt");
        my $thread = threads->create(sub {
            same(fails(sub { $file->size })->code, -2);
            Dwarfs->open($path)->read("a.txt");
        });
        same($thread->join, "first\nsecond\nthird");
        same($file->getline, "first\n");
    }
    same($image->stat("a.txt")->{size}, 18);
};
case "handles", sub { undef $image; same(Dwarfs::handles(), 0) };
