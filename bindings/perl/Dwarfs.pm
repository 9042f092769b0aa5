# SPDX-License-Identifier: MIT
package Dwarfs;

=head1 NAME

Dwarfs - read and write DwarFS images

=head1 SYNOPSIS

    use Dwarfs;
    Dwarfs::pack("photos", "photos.dwarfs", include => sub { $_[0] !~ /~$/ });
    my $image = Dwarfs->open("photos.dwarfs");
    my $next = $image->walk;
    while (defined(my $path = $next->())) { print "$path\n" }
    my $file = $image->open("notes.txt");    # a file handle
    while (my $line = <$file>) { print $line }
    $image->extract("copy");
    $image->export("photos.tar.zst");
    Dwarfs::pack(["photos.dwarfs", "more.tar"], "all.dwarfs");
    for my $difference (Dwarfs::compare($image, "copy")) { print "$difference->{path}\n" }
    Dwarfs::rewrite("photos.dwarfs", "small.dwarfs", level => 9);

=head1 DESCRIPTION

Paths are strings of bytes, below the root of the image. What fails dies with a
C<Dwarfs::Error>, which has C<code>, C<message>, C<path>, C<offset> and C<errno>, and is its
message as a string. An object that is closed dies when it is used. Files and walks keep
their image open.

=head2 Functions

=over

=item Dwarfs->open($path), Dwarfs->open_bytes($bytes)

An image: C<stat($path)> (a hash), C<lstat($path)>, C<list($path)>, C<walk($path)> (a function that
returns the next path, undef at the end), C<open($path)>, C<read($path)>, C<readlink($path)>,
C<xattrs($path)> (a hash), C<lxattrs($path)>, C<check>, C<close>.

Symbolic links are followed in the directories of a path, with the image as root file system. A
link that is the last name is followed too, but for C<lstat>, C<lxattrs>, C<readlink> and C<walk>.

=item $file = $image->open($path)

A file handle of Perl, of a class that inherits from C<IO::Handle> and C<IO::Seekable>:
C<< <$file> >> with any C<$/>, C<read>, C<getc>, C<eof>, C<seek>, C<tell> and C<binmode>, as
operators and as methods, also with layers such as C<:encoding(UTF-8)>. It is not tied. Other
methods are C<size> and C<pread($bytes, $offset)>, which does not move the position. A read that
fails dies. Methods of a closed file die, operators return undef as for any file handle. There is no
file descriptor: C<fileno> is -1, the method C<sysread> is C<read>, and the operator C<sysread>
fails.

=item $image->extract($directory, %options)

Extract to a directory, which is created if it is missing. Nothing is overwritten: an entry that
exists is an error. With C<patterns>, a pattern or an array of them such as C<"src/**/*.c"> or
C<"doc/">, only what matches one of them is extracted, with all below it. C<owners> says whether
to set them (by default when the process is privileged), C<uid> and C<gid> set one for all;
C<< xattrs => 0 >>, C<skip_devices> and C<skip_specials> leave things out; C<writers> is how many
more threads write. It stops at the first entry that cannot be written, or with
C<continue_on_error> dies with its error at the end. C<progress> and C<cancel> are as for pack.

=item $image->export($path, %options)

Write an archive, which replaces an existing file when it is complete. C<format> is C<"auto"> by
default, that of the suffix of the path, such as F<.tar.zst> or F<.zip>; others are C<"tar">,
C<"newc">, C<"zip"> and what libarchive has. C<filters> are such as C<"zstd">; C<settings> are
those of libarchive, such as C<"compression-level=19">. Files are in the order of their data, or
with C<tree_order> below their directory. C<allow_huge_holes> writes holes as zeros whatever their
size. Others are as for extract; with C<continue_on_error> the archive lacks what has failed.

=item Dwarfs::pack($input, $output, %options)

Make an image of a directory, an image or an archive (tar, cpio, zip and others), or of an array
of them: later ones replace entries of earlier ones. Each is a path or an open image; the blocks of
images are copied as they are stored.

C<include> is called with a path, its mode and its size, and says whether to include it;
C<progress> with a hash; C<level> is 0 to 9; C<block_bits>, C<order> and C<compression> are as for
mkdwarfs; C<xattrs> says whether to keep extended attributes; C<overwrite> replaces C<$output>;
C<cancel> is a reference to a scalar that is checked with each entry and report; another thread can
set it if it is shared (L<threads::shared>). What a callback
dies with ends the run, and is passed on, as is what a signal handler dies with during the run:
C<alarm> sets a limit of time. A callback cannot leave a loop around the run by C<last>, C<next> or
C<goto>; that is an error, as in C<sort>. Neither a callback nor a signal handler may call
C<exit> during a run: Perl then frees what the run still uses, and the process may crash. Die
instead, and exit when the run has ended.

=item Dwarfs::rewrite($source, $output, %options)

Write an image anew, with the same files: a path or an open image; the output may be its file. A
header is kept. Options are those of pack, but for C<include>, and: C<blocks> and C<metadata>,
unless 0, are compressed again; C<rebuild> makes the metadata anew, so that options of attributes
apply; C<change_block_size> gives all blocks the size of C<block_bits>, and rebuilds;
C<categories> chooses blocks by the names of their categories, with commas between them, or with
C<"!"> in front all others.

=item Dwarfs::compare($a, $b, %options)

The differences between two trees, a list that is empty when they agree. Each is an open image,
or the path of an image, a directory or an archive. A difference is a hash: C<kind> is a word such
as C<"mode"> or C<"only-a">, or C<"trouble"> for what cannot be read; C<path>; C<name> of an
extended attribute; C<a> and C<b> are what both sides have. C<ignore> is a kind that is not
reported, or an array of them; times are compared in seconds, unless C<time_resolution_ns> is
given; C<progress> and C<cancel> are as for pack.

=item Dwarfs::handles()

How many handles of the library this process has open.

=back

=cut

use strict;
use warnings;
use Carp qw(croak);
use Scalar::Util qw(blessed looks_like_number);
require XSLoader;

our $VERSION = '0.1.0';
our @CARP_NOT = ('Dwarfs::Image');    # errors of arguments are those of the caller of its methods
{
    package Dwarfs::Native;
    our $VERSION = '0.1.0';
    XSLoader::load('Dwarfs::Native');
}

our $handles = 0;    # the layer of file handles counts, too
my @run_options = qw(progress cancel);
my @builder_options = qw(level block_bits order compression xattrs);
my @output_options =
    qw(patterns uid gid xattrs skip_devices skip_specials continue_on_error progress cancel);

sub handles { return $handles }

# A handle of the library, which is freed once.
package Dwarfs::Handle;

sub make {
    my ($class, $pointer, $free, %fields) = @_;
    $handles++;
    return bless { %fields, pointer => $pointer, free => $free }, $class;
}

# A new thread gets no copies: each handle is freed by the thread that opened it.
sub CLONE_SKIP { return 1 }

sub close {
    my ($self) = @_;
    my $pointer = delete $self->{pointer} or return 1;
    $self->{free}->($pointer);
    $handles--;
    return 1;
}

sub DESTROY {
    local ($@, $!, $?);
    $_[0]->close;
}

package Dwarfs::Error;
use overload '""' => sub { $_[0]{message} }, bool => sub { 1 }, fallback => 1;

my %damaged = map { $_ => 1 } $Dwarfs::Native::DWARFS_ERR_CORRUPT,
    $Dwarfs::Native::DWARFS_ERR_CHECKSUM;

# Die for a wrong argument.
sub refuse {
    my ($class, $message) = @_;
    die bless { code => -2, message => $message, errno => 0 }, $class;
}

# Call a function for a path; its error has the path instead of the number of an inode. If the image
# is damaged, the path of the error is that of the image.
sub for_path {
    my ($class, $path, $function) = @_;
    my ($error, @results);
    {
        local ($@, $SIG{__DIE__});
        return wantarray ? @results : $results[0] if eval { @results = $function->(); 1 };
        $error = $@;
    }
    if (ref $error && Scalar::Util::blessed($error) && $error->isa($class)
        && (!defined $error->{path} || $damaged{ $error->{code} } && $error->{path} ne $path)) {
        my $message = $error->{message};
        $error->{message} = "'$path'" . ($message =~ s/^inode \d+ is /is / ? " " : ": ") . $message;
        $error->{path} = $path if !defined $error->{path};
    }
    die $error;
}

sub code    { $_[0]{code} }
sub message { $_[0]{message} }
sub path    { $_[0]{path} }
sub offset  { $_[0]{offset} }
sub errno   { $_[0]{errno} }

package Dwarfs::Image;
our @ISA = ('Dwarfs::Handle');

package Dwarfs;

sub open {
    my ($class, $path) = @_;
    Dwarfs::Error->refuse("a path is needed") if !defined $path;
    return Dwarfs::Image->make(Dwarfs::Native::dwarfs_image_open(undef, $path, undef),
        \&Dwarfs::Native::dwarfs_image_free);
}

sub open_bytes {
    my ($class, $bytes) = @_;
    my $io = Dwarfs::Handle->make(Dwarfs::Native::dwarfs_script_io($bytes),
        \&Dwarfs::Native::dwarfs_io_free);
    return Dwarfs::Image->make(
        Dwarfs::Native::dwarfs_image_open_io(undef, $io->{pointer}, undef),
        \&Dwarfs::Native::dwarfs_image_free);
}

# Options that are numbers.
my %numbers = map { $_ => 1 } qw(level block_bits uid gid writers time_resolution_ns);

# Refuse an option of a wrong type.
sub check_option {
    my ($name, $value) = @_;
    return if !defined $value;
    die "$name must be a code reference\n" if $name =~ /^(?:include|progress)$/ && ref $value ne "CODE";
    return if !$numbers{$name};
    die "$name must be a whole number from 0 on, not '$value'\n"
        if ref $value || !looks_like_number($value) || !($value >= 0 && $value == int($value));
    die "$name is too large: $value\n" if $value > ($name eq "time_resolution_ns" ? ~0 : 0xffffffff);
    return;
}

# The options of a function, which are pairs.
sub options_of {
    my ($function, @options) = @_;
    croak "$function: options are pairs of a name and a value" if @options % 2;
    return @options;
}

# Take options by their names. Others are errors.
sub take {
    my ($options, @names) = @_;
    check_option($_, $options->{$_}) for sort keys %$options;
    my %taken;
    @taken{@names} = delete @{$options}{@names};
    die "unknown option '" . (sort keys %$options)[0] . "'\n" if %$options;
    return %taken;
}

# The elements of an array, a single value, or nothing.
sub list {
    my ($value) = @_;
    return ref $value eq "ARRAY" ? @$value : defined $value ? ($value) : ();
}

sub is_image { return blessed($_[0]) && $_[0]->isa("Dwarfs::Image") }

# A path is a string; a reference would be one by mistake.
sub path_of {
    my ($value) = @_;
    die "a path or an image is needed\n"
        if !defined $value || ref $value && !overload::Method($value, '""');
    return "$value";
}

sub pack {
    my ($input, $output, @options) = @_;
    my %options = options_of("pack", @options);
    my %given = take(\%options, qw(include overwrite), @builder_options, @run_options);
    my @inputs = list($input);
    Dwarfs::Run->new(\%given)->start(sub {
        my ($run) = @_;
        my $builder = $run->builder(\%given);
        die "an input is needed\n" if !@inputs;
        for (@inputs) {
            if (is_image($_)) {
                Dwarfs::Native::dwarfs_builder_add_image($builder, $_->{pointer}, "",
                    $Dwarfs::Native::DWARFS_KEEP_BLOCKS);
            } else {
                Dwarfs::Native::dwarfs_composed_add_path($builder, path_of($_), @inputs == 1 ? 1 : 0,
                    $run->{task});
            }
        }
        Dwarfs::Native::dwarfs_builder_write_path($builder, path_of($output),
            $given{overwrite} ? 1 : 0);
    });
    return;
}

sub rewrite {
    my ($source, $output, @options) = @_;
    my %given = (blocks => 1, metadata => 1, options_of("rewrite", @options));
    %given = take(\%given, qw(blocks metadata rebuild change_block_size categories overwrite),
        @builder_options, @run_options);
    my $resize = $given{change_block_size};
    my $parts = 0;
    $parts |= $Dwarfs::Native::DWARFS_REWRITE_BLOCKS if $given{blocks} || $resize;
    $parts |= $Dwarfs::Native::DWARFS_REWRITE_METADATA if $given{metadata};
    $parts |= $Dwarfs::Native::DWARFS_REWRITE_REBUILD if $given{rebuild} || $resize;
    $parts |= $Dwarfs::Native::DWARFS_REWRITE_BLOCK_SIZE if $resize;
    Dwarfs::Run->new(\%given)->start(sub {
        my ($run) = @_;
        my $builder = $run->builder(\%given);
        # A callback may close the image.
        my $image = $run->own(
            is_image($source) ? Dwarfs::Native::dwarfs_image_ref($source->{pointer})
            : Dwarfs::Native::dwarfs_image_open(undef, path_of($source), undef),
            \&Dwarfs::Native::dwarfs_image_free);
        Dwarfs::Native::dwarfs_composed_keep_header($builder, $image);
        Dwarfs::Native::dwarfs_builder_set_recompress_categories($builder, $given{categories});
        my $sink = $run->own(
            Dwarfs::Native::dwarfs_sink_open(path_of($output), $given{overwrite} ? 1 : 0),
            \&Dwarfs::Native::dwarfs_sink_free);
        Dwarfs::Native::dwarfs_rewrite($image, $parts, $builder, $sink);
    });
    return;
}

sub compare {
    my ($first, $second, @options) = @_;
    my %options = options_of("compare", @options);
    my %given = take(\%options, qw(ignore time_resolution_ns), @run_options);
    my %kinds = map { Dwarfs::Native::dwarfs_difference_word($_) => $_ }
        0 .. $Dwarfs::Native::DWARFS_DIFFERENCE_KINDS - 1;
    my @found;
    my $add = sub {
        my ($difference) = @_;
        push @found, {
            kind => Dwarfs::Native::dwarfs_difference_word(
                Dwarfs::Native::dwarfs_difference_kind($difference)),
            path => Dwarfs::Native::dwarfs_difference_path($difference),
            name => Dwarfs::Native::dwarfs_difference_name($difference),
            a => Dwarfs::Native::dwarfs_composed_value($difference, 0),
            b => Dwarfs::Native::dwarfs_composed_value($difference, 1),
        };
        return 0;
    };
    Dwarfs::Run->new(\%given)->start(sub {
        my ($run) = @_;
        my $compare = $run->own(Dwarfs::Native::dwarfs_compare_new(undef),
            \&Dwarfs::Native::dwarfs_compare_free);
        Dwarfs::Native::dwarfs_compare_set_task($compare, $run->{task});
        for my $side (0, 1) {
            my $tree = $side ? $second : $first;
            if (is_image($tree)) {
                Dwarfs::Native::dwarfs_compare_set_image($compare, $side, $tree->{pointer});
            } else {
                Dwarfs::Native::dwarfs_compare_set_path($compare, $side, path_of($tree), undef);
            }
        }
        for my $word (list($given{ignore})) {
            die "not a kind of difference: $word\n" if !exists $kinds{$word};
            Dwarfs::Native::dwarfs_compare_ignore($compare, $kinds{$word});
        }
        Dwarfs::Native::dwarfs_compare_set_time_resolution($compare, $given{time_resolution_ns})
            if defined $given{time_resolution_ns};
        Dwarfs::Native::dwarfs_compare_run($compare, $add);
    });
    return @found;
}

# One operation: its task, its callbacks, and the handles that it frees. What a callback dies with
# is kept, and ends it.
package Dwarfs::Run;
use Scalar::Util qw(weaken);

sub new {
    my ($class, $given) = @_;
    my $self = bless { %{$given}{qw(include progress cancel)}, handles => [] }, $class;
    weaken(my $weak = $self);
    $self->{on_progress} = sub { $weak->report($_[0]) };
    return $self;
}

# Call a function with this, and die with what has stopped it.
sub start {
    my ($self, $function) = @_;
    my $done = eval {
        $self->{task} = $self->own(Dwarfs::Native::dwarfs_task_new(),
            \&Dwarfs::Native::dwarfs_task_free);
        Dwarfs::Native::dwarfs_task_set_progress($self->{task}, $self->{on_progress});
        $function->($self);
        1;
    };
    my $failure = exists $self->{failure} ? $self->{failure} : $@;
    $_->close for reverse @{ $self->{handles} };
    die $failure if !$done || exists $self->{failure};
    return;
}

# A pointer that is freed at the end.
sub own {
    my ($self, $pointer, $free) = @_;
    push @{ $self->{handles} }, Dwarfs::Handle->make($pointer, $free);
    return $pointer;
}

sub builder {
    my ($self, $given) = @_;
    my $builder = $self->own(Dwarfs::Native::dwarfs_builder_new(undef),
        \&Dwarfs::Native::dwarfs_builder_free);
    weaken(my $weak = $self);
    $self->{on_include} = sub { $weak->choose($_[0]) };
    Dwarfs::Native::dwarfs_builder_set_task($builder, $self->{task});
    Dwarfs::Native::dwarfs_builder_set_include($builder, $self->{on_include});
    Dwarfs::Native::dwarfs_builder_set_level($builder, $given->{level}) if defined $given->{level};
    Dwarfs::Native::dwarfs_builder_set_block_bits($builder, $given->{block_bits})
        if defined $given->{block_bits};
    Dwarfs::Native::dwarfs_builder_set_xattrs($builder, $given->{xattrs} ? 1 : 0)
        if defined $given->{xattrs};
    Dwarfs::Native::dwarfs_builder_set_order($builder, $given->{order}) if defined $given->{order};
    Dwarfs::Native::dwarfs_builder_set_codec($builder, $Dwarfs::Native::DWARFS_CODEC_BLOCKS,
        $given->{compression})
        if defined $given->{compression};
    return $builder;
}

# Call a callback of the user, unless the operation is to end.
sub guarded {
    my ($self, $function, @arguments) = @_;
    return -15 if exists $self->{failure};
    my $cancel = $self->{cancel};
    my $result = eval {
        $cancel && (ref $cancel eq 'CODE' ? $cancel->() : $$cancel) ? -15
            : $function->(@arguments) ? 1 : 0;
    };
    return $result if defined $result;
    $self->{failure} = $@;
    return -15;
}

sub choose {
    my ($self, $input) = @_;
    return $self->guarded($self->{include} || sub { 1 }, Dwarfs::Native::dwarfs_input_path($input),
        Dwarfs::Native::dwarfs_input_mode($input), Dwarfs::Native::dwarfs_input_bytes($input));
}

sub report {
    my ($self, $now) = @_;
    my $result = $self->guarded($self->{progress} || sub { 0 }, {
        phase => Dwarfs::Native::dwarfs_phase_name(Dwarfs::Native::dwarfs_progress_phase($now)),
        done_bytes => Dwarfs::Native::dwarfs_progress_number($now, 0),
        total_bytes => Dwarfs::Native::dwarfs_progress_number($now, 1),
        done_items => Dwarfs::Native::dwarfs_progress_number($now, 5),
    });
    return $result < 0 ? $result : 0;
}

package Dwarfs::Image;

# The entry of a path, or what a link leads to. Links in its directories are always followed.
sub entry {
    my ($self, $path, $follow) = @_;
    Dwarfs::Error->refuse("a path is needed") if !defined $path;
    return $follow ? Dwarfs::Native::dwarfs_find_followed($self->{pointer}, $path)
        : Dwarfs::Native::dwarfs_script_find($self->{pointer}, $path);
}

sub inode {
    my ($self, $path, $follow) = @_;
    return Dwarfs::Native::dwarfs_entry_inode($self->{pointer}, $self->entry($path, $follow));
}

sub status {
    my ($self, $entry) = @_;
    my %stat;
    @stat{qw(inode mode uid gid size nlink mtime mtime_ns atime atime_ns ctime ctime_ns)} =
        Dwarfs::Native::dwarfs_script_stat($self->{pointer}, $entry);
    return \%stat;
}

sub stat  { return $_[0]->status($_[0]->entry($_[1], 1)) }
sub lstat { return $_[0]->status($_[0]->entry($_[1], 0)) }

sub list {
    my ($self, $path) = @_;
    $path = "" if !defined $path;
    my $inode = $self->inode($path, 1);
    my ($first, $count) = Dwarfs::Error->for_path($path,
        sub { Dwarfs::Native::dwarfs_dir_range($self->{pointer}, $inode) });
    return map { Dwarfs::Native::dwarfs_entry_name($self->{pointer}, $first + $_) }
        0 .. $count - 1;
}

sub walk {
    my ($self, $path) = @_;
    my $start = $self->entry(defined $path ? $path : "");
    my $walk = Dwarfs::Handle->make(
        Dwarfs::Native::dwarfs_walk_new($self->{pointer}, $start, 0),
        \&Dwarfs::Native::dwarfs_walk_free);
    return sub {
        return undef if !$walk;
        my ($entry) = Dwarfs::Native::dwarfs_script_next($walk->{pointer});
        return Dwarfs::Native::dwarfs_walk_path($walk->{pointer}) if defined $entry;
        undef $walk;
        return undef;
    };
}

sub open {
    my ($self, $path) = @_;
    my $inode = $self->inode($path, 1);
    return Dwarfs::Error->for_path($path,
        sub { Dwarfs::Native::dwarfs_file_open($self->{pointer}, $inode) });
}

sub read {
    my ($self, $path) = @_;
    my $file = $self->open($path);
    return Dwarfs::Error->for_path($path, sub { $file->pread($file->size, 0) });
}

sub readlink {
    my ($self, $path) = @_;
    my $inode = $self->inode($path);
    return Dwarfs::Error->for_path($path,
        sub { Dwarfs::Native::dwarfs_link_read($self->{pointer}, $inode) });
}

sub xattrs  { return $_[0]->attributes($_[0]->inode($_[1], 1)) }
sub lxattrs { return $_[0]->attributes($_[0]->inode($_[1], 0)) }

sub attributes {
    my ($self, $inode) = @_;
    my %attributes;
    for (my $i = 0;; $i++) {
        my ($name, $value) = Dwarfs::Native::dwarfs_script_xattr($self->{pointer}, $inode, $i)
            or last;
        $attributes{$name} = $value;
    }
    return \%attributes;
}

sub check {
    my ($self) = @_;
    my $errors;
    # With reports, during which signals are handled.
    Dwarfs::Run->new({})->start(sub {
        my ($run) = @_;
        $errors = Dwarfs::Native::dwarfs_image_check($self->{pointer}, 2, undef, $run->{task});
    });
    return $errors;
}

sub extract {
    my ($self, $directory, @options) = @_;
    my %options = Dwarfs::options_of("extract", @options);
    my %given = Dwarfs::take(\%options, qw(owners writers), @output_options);
    Dwarfs::Run->new(\%given)->start(sub {
        my ($run) = @_;
        my $extract = $run->own(Dwarfs::Native::dwarfs_extract_new($self->{pointer}),
            \&Dwarfs::Native::dwarfs_extract_free);
        set_output_options($extract, "dwarfs_extract", \%given);
        Dwarfs::Native::dwarfs_extract_set_owners($extract, $given{owners} ? 1 : 0)
            if defined $given{owners};
        Dwarfs::Native::dwarfs_extract_set_writers($extract, $given{writers})
            if defined $given{writers};
        Dwarfs::Native::dwarfs_extract_set_task($extract, $run->{task});
        Dwarfs::Native::dwarfs_extract_to_directory($extract, Dwarfs::path_of($directory));
    });
    return;
}

sub export {
    my ($self, $path, @options) = @_;
    my %options = Dwarfs::options_of("export", @options);
    my %given = Dwarfs::take(\%options, qw(format filters settings tree_order allow_huge_holes),
        @output_options);
    my $order = $given{tree_order} ? $Dwarfs::Native::DWARFS_WALK_TREE
        : $Dwarfs::Native::DWARFS_WALK_DATA;
    Dwarfs::Run->new(\%given)->start(sub {
        my ($run) = @_;
        my $export = $run->own(Dwarfs::Native::dwarfs_archive_export_new($self->{pointer}),
            \&Dwarfs::Native::dwarfs_archive_export_free);
        set_output_options($export, "dwarfs_archive_export", \%given);
        Dwarfs::Native::dwarfs_archive_export_set_format($export,
            defined $given{format} ? $given{format} : "auto");
        Dwarfs::Native::dwarfs_archive_export_set_filters($export,
            join(",", Dwarfs::list($given{filters})));
        Dwarfs::Native::dwarfs_archive_export_set_options($export, $given{settings});
        Dwarfs::Native::dwarfs_archive_export_set_order($export, $order);
        Dwarfs::Native::dwarfs_archive_export_set_allow_huge_holes($export,
            $given{allow_huge_holes} ? 1 : 0);
        Dwarfs::Native::dwarfs_archive_export_set_task($export, $run->{task});
        Dwarfs::Native::dwarfs_archive_export_to_path($export, Dwarfs::path_of($path));
    });
    return;
}

# What an extraction and an export have. The prefix is that of the functions.
sub set_output_options {
    my ($pointer, $prefix, $given) = @_;
    my $call = sub {
        my ($name, $value) = @_;
        Dwarfs::Native->can($prefix . $name)->($pointer, $value);
    };
    $call->("_add_pattern", $_) for Dwarfs::list($given->{patterns});
    for (qw(uid gid)) { $call->("_set_$_", $given->{$_}) if defined $given->{$_} }
    for (qw(xattrs skip_devices skip_specials continue_on_error)) {
        $call->("_set_$_", $given->{$_} ? 1 : 0) if defined $given->{$_};
    }
    return;
}

# A file handle of Perl: a glob with a layer that reads the file.
package Dwarfs::File;
use IO::Handle ();
use IO::Seekable ();
our @ISA = qw(IO::Handle IO::Seekable);
use Scalar::Util qw(looks_like_number);

# The methods of IO::Handle and IO::Seekable return undef for a closed handle; these die.
for my $name (qw(getline getlines getc read eof seek tell ungetc input_line_number)) {
    my $method = IO::Handle->can($name) || IO::Seekable->can($name);
    no strict 'refs';
    *$name = sub {
        Dwarfs::Error->refuse("the handle is closed") if !$_[0]->opened;
        &$method;    # with the same @_, as read() sets one of it
    };
}

sub binmode { return @_ > 1 ? CORE::binmode($_[0], $_[1]) : CORE::binmode($_[0]) }

# There is no file descriptor to read from.
sub sysread;
*sysread = \&read;

sub size { return Dwarfs::Native::dwarfs_file_bytes($_[0]) }

sub pread {
    my ($self, $bytes, $offset) = @_;
    my $size = $self->size;
    for ($bytes, $offset) {
        Dwarfs::Error->refuse("a length or an offset is not a number from 0 on")
            if !defined $_ || ref $_ || !looks_like_number($_) || !($_ >= 0);
    }
    return "" if $offset >= $size;
    $bytes = $size - $offset if $bytes > $size - $offset;
    return Dwarfs::Native::dwarfs_script_read($self, $offset, $bytes);
}

1;
