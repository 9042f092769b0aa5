// SPDX-License-Identifier: MIT
package org.libdwarfs.nio;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.MalformedURLException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URL;
import java.net.URLConnection;
import java.nio.file.FileSystem;
import java.nio.file.FileSystemNotFoundException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Map;

/** Reads a file of an image. Without a stream, it keeps nothing open. */
final class DwarfsUrlConnection extends URLConnection {
    private InputStream stream;
    private BasicFileAttributes attributes;

    DwarfsUrlConnection(URL url) {
        super(url);
    }

    @Override
    public void connect() throws IOException {
        if (!connected) {
            URI uri = uri();
            FileSystem own = openUnlessOpen(uri);
            try {
                attributes = Files.readAttributes(path(uri, own), BasicFileAttributes.class);
            } finally {
                close(own);
            }
            connected = true;
        }
    }

    @Override
    public InputStream getInputStream() throws IOException {
        if (stream == null) {
            URI uri = uri();
            FileSystem own = openUnlessOpen(uri);
            try {
                stream = closing(Files.newInputStream(path(uri, own)), own);
            } finally {
                if (stream == null) {
                    close(own);
                }
            }
        }
        return stream;
    }

    private URI uri() throws IOException {
        try {
            return new URI(DwarfsFileSystemProvider.SCHEME + ":" + url.getFile());
        } catch (URISyntaxException error) {
            throw (IOException) new MalformedURLException(url.toString()).initCause(error);
        }
    }

    /** A file system with the image, or null if there is one that was opened by its URI. */
    private static FileSystem openUnlessOpen(URI uri) throws IOException {
        try {
            FileSystems.getFileSystem(uri);
            return null;
        } catch (FileSystemNotFoundException notOpen) {
            return open(imageOf(uri));
        } catch (IllegalArgumentException error) {
            throw malformed(uri, error);
        }
    }

    private static FileSystem open(Path image) throws IOException {
        try {
            return new DwarfsFileSystemProvider().newFileSystem(image, Map.of());
        } catch (UnsupportedOperationException notImage) {
            throw new IOException(notImage.getCause());
        }
    }

    /** The image, on a file system that is installed and open. */
    private static Path imageOf(URI uri) throws IOException {
        try {
            return DwarfsFileSystemProvider.imageOf(uri);
        } catch (FileSystemNotFoundException | IllegalArgumentException error) {
            throw malformed(uri, error);
        }
    }

    private static IOException malformed(URI uri, Exception cause) {
        String why = cause.getMessage();
        return (IOException) new MalformedURLException(uri + (why == null ? "" : ": " + why))
            .initCause(cause);
    }

    private static Path path(URI uri, FileSystem own) {
        return own == null ? Path.of(uri) : own.getPath(DwarfsPath.fromUri(uri));
    }

    private static void close(FileSystem own) throws IOException {
        if (own != null) {
            own.close();
        }
    }

    /** A stream that closes the file system, which closes it. */
    private static InputStream closing(InputStream stream, FileSystem own) {
        return own == null ? stream : new FilterInputStream(stream) {
            @Override
            public void close() throws IOException {
                own.close();
            }
        };
    }

    @Override
    public long getContentLengthLong() {
        return isFound() ? attributes.size() : -1;
    }

    @Override
    public int getContentLength() {
        long size = getContentLengthLong();
        return size > Integer.MAX_VALUE ? -1 : (int) size;
    }

    @Override
    public long getLastModified() {
        return isFound() ? attributes.lastModifiedTime().toMillis() : 0;
    }

    @Override
    public String getContentType() {
        return guessContentTypeFromName(url.getFile());
    }

    private boolean isFound() {
        try {
            connect();
            return true;
        } catch (IOException error) {
            return false; // these methods tell no errors
        }
    }
}
