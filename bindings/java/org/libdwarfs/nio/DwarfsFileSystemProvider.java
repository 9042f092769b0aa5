// SPDX-License-Identifier: MIT
package org.libdwarfs.nio;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.channels.FileChannel;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.AccessMode;
import java.nio.file.CopyOption;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileStore;
import java.nio.file.FileSystem;
import java.nio.file.FileSystemAlreadyExistsException;
import java.nio.file.FileSystemNotFoundException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.ProviderMismatchException;
import java.nio.file.ReadOnlyFileSystemException;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.FileAttributeView;
import java.nio.file.spi.FileSystemProvider;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.libdwarfs.DwarfsException;
import org.libdwarfs.Image;

/** The provider of the scheme {@code dwarfs}; it is installed by being in the class path. */
public final class DwarfsFileSystemProvider extends FileSystemProvider {
    static final String SCHEME = "dwarfs";

    /** Those that were opened by a URI, by the real path of the image. */
    private final Map<Path, DwarfsFileSystem> byImage = new HashMap<>();

    /** For the service loader. */
    public DwarfsFileSystemProvider() {
    }

    @Override
    public String getScheme() {
        return SCHEME;
    }

    // -- file systems

    @Override
    public FileSystem newFileSystem(URI uri, Map<String, ?> env) throws IOException {
        Path file = imageOf(uri).toRealPath();
        synchronized (byImage) {
            if (byImage.containsKey(file)) {
                throw new FileSystemAlreadyExistsException(file.toString());
            }
            DwarfsFileSystem system = DwarfsFileSystem.open(this, file, env);
            byImage.put(file, system);
            return system;
        }
    }

    /**
     * Open the image in a file.
     *
     * @throws UnsupportedOperationException for a path that is not in the default file system, and
     *     for a file that is not an image, unless its name ends with ".dwarfs": then another
     *     provider may know it
     */
    @Override
    public FileSystem newFileSystem(Path path, Map<String, ?> env) throws IOException {
        if (path.getFileSystem() != FileSystems.getDefault() || Files.isDirectory(path)) {
            throw new UnsupportedOperationException();
        }
        try {
            return DwarfsFileSystem.open(this, path.toRealPath(), env);
        } catch (DwarfsException error) {
            boolean isNamed = path.toString().toLowerCase(Locale.ROOT).endsWith(".dwarfs");
            if (error.code() == DwarfsException.Code.NOT_IMAGE && !isNamed) {
                throw new UnsupportedOperationException(error);
            }
            throw error;
        }
    }

    @Override
    public FileSystem getFileSystem(URI uri) {
        Path file;
        try {
            file = imageOf(uri).toRealPath();
        } catch (IOException error) {
            throw (RuntimeException) new FileSystemNotFoundException(uri.toString())
                .initCause(error);
        }
        synchronized (byImage) {
            DwarfsFileSystem system = byImage.get(file);
            if (system == null) {
                throw new FileSystemNotFoundException(uri.toString());
            }
            return system;
        }
    }

    @Override
    public Path getPath(URI uri) {
        if (uri.getRawSchemeSpecificPart().lastIndexOf("!/") < 0) {
            throw new IllegalArgumentException("no \"!/\" before the path in the image: " + uri);
        }
        return getFileSystem(uri).getPath(DwarfsPath.fromUri(uri));
    }

    void forget(DwarfsFileSystem system) {
        synchronized (byImage) {
            byImage.remove(system.file(), system);
        }
    }

    /** The image of "dwarfs:URI!/path" or "dwarfs:URI". */
    static Path imageOf(URI uri) {
        if (!SCHEME.equalsIgnoreCase(uri.getScheme())) {
            throw new IllegalArgumentException("the scheme is not dwarfs: " + uri);
        }
        String text = uri.getRawSchemeSpecificPart();
        int end = text.lastIndexOf("!/");
        try {
            URI image = new URI(end < 0 ? text : text.substring(0, end));
            if (!image.isAbsolute()) {
                throw new IllegalArgumentException("no URI of an image after \"dwarfs:\": " + uri);
            }
            return Path.of(image);
        } catch (URISyntaxException error) {
            throw new IllegalArgumentException(error.getMessage(), error);
        }
    }

    static DwarfsPath own(Path path) {
        if (path == null) {
            throw new NullPointerException("path");
        }
        if (!(path instanceof DwarfsPath)) {
            throw new ProviderMismatchException();
        }
        return (DwarfsPath) path;
    }

    // -- reading

    private static void refuseWriting(Iterable<? extends OpenOption> options) {
        for (OpenOption option : options) {
            if (option == StandardOpenOption.WRITE || option == StandardOpenOption.APPEND ||
                option == StandardOpenOption.CREATE || option == StandardOpenOption.CREATE_NEW ||
                option == StandardOpenOption.TRUNCATE_EXISTING ||
                option == StandardOpenOption.DELETE_ON_CLOSE) {
                throw new ReadOnlyFileSystemException();
            }
            if (!(option instanceof StandardOpenOption) &&
                option != LinkOption.NOFOLLOW_LINKS) {
                throw new UnsupportedOperationException("option " + option);
            }
        }
    }

    @Override
    public SeekableByteChannel newByteChannel(Path path, Set<? extends OpenOption> options,
                                              FileAttribute<?>... attributes)
        throws IOException {
        refuseWriting(options);
        DwarfsPath own = own(path);
        boolean follow = !options.contains(LinkOption.NOFOLLOW_LINKS);
        return Failures.of(own, () -> own.getFileSystem().keep(
            own.entry(follow).newByteChannel()));
    }

    @Override
    public FileChannel newFileChannel(Path path, Set<? extends OpenOption> options,
                                      FileAttribute<?>... attributes) throws IOException {
        refuseWriting(options);
        DwarfsPath own = own(path);
        boolean follow = !options.contains(LinkOption.NOFOLLOW_LINKS);
        return Failures.of(own, () -> own.getFileSystem().keep(
            new DwarfsFileChannel(own.entry(follow).newByteChannel())));
    }

    @Override
    public InputStream newInputStream(Path path, OpenOption... options) throws IOException {
        refuseWriting(Arrays.asList(options));
        DwarfsPath own = own(path);
        boolean follow = !Arrays.asList(options).contains(LinkOption.NOFOLLOW_LINKS);
        return Failures.of(own, () -> own.getFileSystem().keep(
            own.entry(follow).newInputStream()));
    }

    @Override
    public DirectoryStream<Path> newDirectoryStream(Path path,
                                                    DirectoryStream.Filter<? super Path> filter)
        throws IOException {
        DwarfsPath own = own(path);
        return Failures.of(own, () -> own.getFileSystem().keep(
            new DwarfsDirectoryStream(own, own.entry(true).list(), filter)));
    }

    @Override
    public Path readSymbolicLink(Path path) throws IOException {
        DwarfsPath own = own(path);
        return own.getFileSystem().getPath(Failures.ofLink(own,
            () -> own.entry(false).linkTarget()));
    }

    @Override
    public boolean isSameFile(Path path, Path other) throws IOException {
        if (path.equals(other)) {
            return true;
        }
        if (!(other instanceof DwarfsPath) ||
            path.getFileSystem() != other.getFileSystem()) {
            return false;
        }
        return DwarfsFileAttributes.of(own(path), true).inode() ==
            DwarfsFileAttributes.of(own(other), true).inode();
    }

    @Override
    public boolean isHidden(Path path) {
        Path name = own(path).getFileName();
        return name != null && name.toString().startsWith(".");
    }

    @Override
    public FileStore getFileStore(Path path) throws IOException {
        DwarfsPath own = own(path);
        Failures.of(own, () -> own.entry(true));
        return own.getFileSystem().store();
    }

    /** Permissions are not enforced: whoever can read the image can read all of it. */
    @Override
    public void checkAccess(Path path, AccessMode... modes) throws IOException {
        DwarfsPath own = own(path);
        DwarfsFileAttributes attributes = DwarfsFileAttributes.of(own, true);
        for (AccessMode mode : modes) {
            if (mode == AccessMode.WRITE) {
                throw new AccessDeniedException(path.toString(), null,
                    "the file system is read-only");
            }
            if (mode == AccessMode.EXECUTE && !attributes.isDirectory() &&
                (attributes.mode() & 0111) == 0) {
                throw new AccessDeniedException(path.toString(), null,
                    "not executable");
            }
        }
    }

    // -- attributes

    private static boolean follows(LinkOption... options) {
        return !Arrays.asList(options).contains(LinkOption.NOFOLLOW_LINKS);
    }

    @Override
    public <V extends FileAttributeView> V getFileAttributeView(Path path, Class<V> type,
                                                                LinkOption... options) {
        return Views.of(own(path), type, follows(options));
    }

    @Override
    public <A extends BasicFileAttributes> A readAttributes(Path path, Class<A> type,
                                                            LinkOption... options)
        throws IOException {
        if (!type.isAssignableFrom(DwarfsFileAttributes.class)) {
            throw new UnsupportedOperationException(type + " is not supported");
        }
        return type.cast(DwarfsFileAttributes.of(own(path), follows(options)));
    }

    @Override
    public Map<String, Object> readAttributes(Path path, String names, LinkOption... options)
        throws IOException {
        return Views.byName(own(path), names, follows(options));
    }

    // -- writing

    @Override
    public OutputStream newOutputStream(Path path, OpenOption... options) {
        own(path);
        throw new ReadOnlyFileSystemException();
    }

    /** For {@link Files#createDirectories}, which accepts directories that exist. */
    @Override
    public void createDirectory(Path path, FileAttribute<?>... attributes) throws IOException {
        if (Files.exists(own(path), LinkOption.NOFOLLOW_LINKS)) {
            throw new FileAlreadyExistsException(path.toString());
        }
        throw new ReadOnlyFileSystemException();
    }

    @Override
    public void createSymbolicLink(Path link, Path target, FileAttribute<?>... attributes) {
        own(link);
        throw new ReadOnlyFileSystemException();
    }

    @Override
    public void createLink(Path link, Path existing) {
        own(link);
        throw new ReadOnlyFileSystemException();
    }

    @Override
    public void delete(Path path) {
        own(path);
        throw new ReadOnlyFileSystemException();
    }

    @Override
    public void copy(Path source, Path target, CopyOption... options) {
        own(target);
        throw new ReadOnlyFileSystemException();
    }

    @Override
    public void move(Path source, Path target, CopyOption... options) {
        own(target);
        throw new ReadOnlyFileSystemException();
    }

    @Override
    public void setAttribute(Path path, String name, Object value, LinkOption... options) {
        own(path);
        throw new ReadOnlyFileSystemException();
    }

    /**
     * The image of a file system.
     *
     * @param system a file system of this provider
     * @return its image, which is closed with the file system
     */
    public static Image imageOf(FileSystem system) {
        if (!(system instanceof DwarfsFileSystem)) {
            throw new ProviderMismatchException();
        }
        return ((DwarfsFileSystem) system).image();
    }
}
