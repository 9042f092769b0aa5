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
    my $file = $image->open("notes.txt");    # reads as IO::Handle does
    while (defined(my $line = $file->getline)) { print $line }

=head1 DESCRIPTION

Paths are strings of bytes, below the root of the image. What fails dies with a
C<Dwarfs::Error>, which has C<code>, C<message>, C<path>, C<offset> and C<errno>, and is its
message as a string. An object that is closed dies when it is used. Files and walks keep
their image open.

=head2 Functions

=over

=item Dwarfs->open($path), Dwarfs->open_bytes($bytes)

An image: C<stat($path)> (a hash), C<list($path)>, C<walk($path)> (a function that returns the
next path, undef at the end), C<open($path)>, C<read($path)>, C<readlink($path)>,
C<xattrs($path)> (a hash), C<check>, C<close>.

=item Dwarfs::pack($directory, $output, %options)

C<include> is called with a path, its mode and its size, and says whether to include it;
C<progress> with a hash; C<level> is 0 to 9; C<xattrs> says whether to
keep extended attributes; C<overwrite> replaces C<$output>; C<cancel> is
a reference to a scalar that is checked with each entry and report. What a callback dies
with ends the run, and is passed on.

=item Dwarfs::handles()

How many handles of the library this process has open.

=back

=cut

use strict;
use warnings;
require XSLoader;

our $VERSION = '0.1.0';
{
    package Dwarfs::Native;
    our $VERSION = '0.1.0';
    XSLoader::load('Dwarfs::Native');
}

my $handles = 0;

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

# Call a callback of the user; what it dies with is kept, and ends the run.
sub guarded {
    my ($state, $function, @arguments) = @_;
    return -15 if exists $state->{failure};
    my $result = eval { $function->(@arguments) ? 1 : 0 };
    return $result if defined $result;
    $state->{failure} = $@;
    return -15;
}

sub pack {
    my ($directory, $output, %options) = @_;
    my ($include, $progress, $cancel) = delete @options{qw(include progress cancel)};
    my ($level, $overwrite, $xattrs) = delete @options{qw(level overwrite xattrs)};
    die "unknown option '" . (keys %options)[0] . "'\n" if %options;
    my %state;
    my $task = Dwarfs::Handle->make(Dwarfs::Native::dwarfs_task_new(),
        \&Dwarfs::Native::dwarfs_task_free);
    my $builder = Dwarfs::Handle->make(Dwarfs::Native::dwarfs_builder_new(undef),
        \&Dwarfs::Native::dwarfs_builder_free);
    my $on_progress = sub {
        my ($now) = @_;
        return -15 if $cancel && $$cancel;
        return 0 if !$progress;
        my $result = guarded(\%state, $progress, {
            phase => Dwarfs::Native::dwarfs_phase_name(Dwarfs::Native::dwarfs_progress_phase($now)),
            done_bytes => Dwarfs::Native::dwarfs_progress_number($now, 0),
            total_bytes => Dwarfs::Native::dwarfs_progress_number($now, 1),
            done_items => Dwarfs::Native::dwarfs_progress_number($now, 5),
        });
        return $result < 0 ? $result : 0;
    };
    my $on_include = sub {
        my ($input) = @_;
        return -15 if $cancel && $$cancel;
        return 1 if !$include;
        return guarded(\%state, $include, Dwarfs::Native::dwarfs_input_path($input),
            Dwarfs::Native::dwarfs_input_mode($input), Dwarfs::Native::dwarfs_input_bytes($input));
    };
    my $pointer = $builder->{pointer};
    Dwarfs::Native::dwarfs_task_set_progress($task->{pointer}, $on_progress);
    Dwarfs::Native::dwarfs_builder_set_task($pointer, $task->{pointer});
    Dwarfs::Native::dwarfs_builder_set_include($pointer, $on_include);
    Dwarfs::Native::dwarfs_builder_set_level($pointer, $level) if defined $level;
    Dwarfs::Native::dwarfs_builder_set_xattrs($pointer, $xattrs ? 1 : 0) if defined $xattrs;
    my $done = eval {
        Dwarfs::Native::dwarfs_builder_add_directory($pointer, $directory);
        Dwarfs::Native::dwarfs_builder_write_path($pointer, $output, $overwrite ? 1 : 0);
        1;
    };
    my $failure = exists $state{failure} ? $state{failure} : $@;
    $builder->close;
    die $failure if !$done;
    return;
}

package Dwarfs::Image;

sub stat {
    my ($self, $path) = @_;
    my $entry = Dwarfs::Native::dwarfs_find($self->{pointer}, $path);
    my %stat;
    @stat{qw(inode mode uid gid size nlink mtime mtime_ns atime atime_ns ctime ctime_ns)} =
        Dwarfs::Native::dwarfs_script_stat($self->{pointer}, $entry);
    return \%stat;
}

sub inode {
    my ($self, $path) = @_;
    return Dwarfs::Native::dwarfs_entry_inode($self->{pointer},
        Dwarfs::Native::dwarfs_find($self->{pointer}, $path));
}

sub list {
    my ($self, $path) = @_;
    my ($first, $count) = Dwarfs::Native::dwarfs_dir_range($self->{pointer},
        $self->inode(defined $path ? $path : ""));
    return map { Dwarfs::Native::dwarfs_entry_name($self->{pointer}, $first + $_) }
        0 .. $count - 1;
}

sub walk {
    my ($self, $path) = @_;
    my $start = Dwarfs::Native::dwarfs_find($self->{pointer}, defined $path ? $path : "");
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
    my $entry = Dwarfs::Native::dwarfs_find_followed($self->{pointer}, $path);
    my $inode = Dwarfs::Native::dwarfs_entry_inode($self->{pointer}, $entry);
    return Dwarfs::File->make(Dwarfs::Native::dwarfs_file_open($self->{pointer}, $inode),
        \&Dwarfs::Native::dwarfs_file_free, position => 0);
}

sub read {
    my ($self, $path) = @_;
    my $file = $self->open($path);
    return $file->pread($file->size, 0);
}

sub readlink {
    my ($self, $path) = @_;
    return Dwarfs::Native::dwarfs_link_read($self->{pointer}, $self->inode($path));
}

sub xattrs {
    my ($self, $path) = @_;
    my $inode = $self->inode($path);
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
    return Dwarfs::Native::dwarfs_image_check($self->{pointer}, 2, undef, undef);
}

# Reads as IO::Handle does; nothing is buffered but the blocks, by the library.
package Dwarfs::File;
our @ISA = ('Dwarfs::Handle');

sub size { return Dwarfs::Native::dwarfs_file_bytes($_[0]{pointer}) }

sub pread {
    my ($self, $bytes, $offset) = @_;
    my $size = $self->size;
    return "" if $offset >= $size;
    $bytes = $size - $offset if $bytes > $size - $offset;
    return Dwarfs::Native::dwarfs_script_read($self->{pointer}, $offset, $bytes);
}

# read($buffer, $bytes, $offset_in_buffer)
sub read {
    my ($self, undef, $bytes, $at) = @_;
    my $data = $self->pread($bytes, $self->{position});
    $self->{position} += length $data;
    $_[1] = "" if !defined $_[1];
    if ($at) {
        $_[1] .= "\0" x ($at - length $_[1]) if $at > length $_[1];
        substr($_[1], $at) = $data;
    } else {
        $_[1] = $data;
    }
    return length $data;
}

sub getline {
    my ($self) = @_;
    my $line = "";
    while (1) {
        my $data = $self->pread(4096, $self->{position});
        my $end = defined $/ ? index($line . $data, $/) : -1;
        my $had = length $line;
        $line .= $data;
        if ($end >= 0) {
            $line = substr($line, 0, $end + length $/);
            $self->{position} += length($line) - $had;
            return $line;
        }
        $self->{position} += length $data;
        last if $data eq "";
    }
    return $line eq "" ? undef : $line;
}

sub getlines {
    my ($self) = @_;
    my @lines;
    while (defined(my $line = $self->getline)) { push @lines, $line }
    return @lines;
}

sub seek {
    my ($self, $offset, $whence) = @_;
    my $from = !$whence ? 0 : $whence == 1 ? $self->{position} : $self->size;
    return 0 if $from + $offset < 0;
    $self->{position} = $from + $offset;
    return 1;
}

sub tell { return $_[0]{position} }
sub eof  { return $_[0]{position} >= $_[0]->size }

1;
