// SPDX-License-Identifier: MIT
package org.libdwarfs.hadoop;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;
import org.libdwarfs.Attributes;
import org.libdwarfs.DwarfsException;
import org.libdwarfs.Entry;
import org.libdwarfs.Image;

/** A read-only file system of Hadoop over an image. */
public final class DwarfsHadoopFileSystem extends FileSystem {
    private static final String SETTING = "fs.dwarfs.image";

    private URI uri;
    private Image image;
    private FSDataInputStream source;
    private Path workingDirectory;

    /** For the service loader. */
    public DwarfsHadoopFileSystem() {
    }

    @Override
    public String getScheme() {
        return "dwarfs";
    }

    @Override
    public void initialize(URI name, Configuration settings) throws IOException {
        super.initialize(name, settings);
        String host = name.getAuthority();
        String setting = host == null ? SETTING : SETTING + "." + host;
        String location = settings.get(setting);
        if (location == null) {
            throw new IOException("the setting " + setting + " is missing: the image behind " +
                name);
        }
        uri = URI.create("dwarfs://" + (host == null ? "/" : host));
        workingDirectory = new Path("/").makeQualified(uri, new Path("/"));
        open(new Path(location), settings);
    }

    private void open(Path location, Configuration settings) throws IOException {
        String scheme = location.toUri().getScheme();
        if (scheme == null || scheme.equals("file")) {
            image = Image.open(java.nio.file.Path.of(location.toUri().getPath()));
            return;
        }
        FileSystem holder = location.getFileSystem(settings);
        source = holder.open(location);
        image = Image.open(new HadoopChannel(source, holder.getFileStatus(location).getLen()),
            new Image.Options());
    }

    @Override
    public URI getUri() {
        return uri;
    }

    // -- reading

    private Entry find(Path path) throws IOException {
        try {
            return image.findFollowed(fixRelativePart(path).toUri().getPath());
        } catch (DwarfsException error) {
            if (error.code() == DwarfsException.Code.NOT_FOUND ||
                error.code() == DwarfsException.Code.NOT_DIR) {
                throw (IOException) new FileNotFoundException(path + ": " + error.getMessage())
                    .initCause(error);
            }
            throw error;
        }
    }

    @Override
    public FSDataInputStream open(Path path, int bufferSize) throws IOException {
        Entry entry = find(path);
        if (!entry.attributes().isFile()) {
            throw new FileNotFoundException(path + " is not a file");
        }
        return new FSDataInputStream(new HadoopInputStream(entry.newByteChannel()));
    }

    @Override
    public FileStatus getFileStatus(Path path) throws IOException {
        return statusOf(path.makeQualified(uri, workingDirectory), find(path).attributes());
    }

    private FileStatus statusOf(Path path, Attributes attributes) {
        return new FileStatus(attributes.isDirectory() ? 0 : attributes.size(),
            attributes.isDirectory(), 1, getDefaultBlockSize(path),
            attributes.modificationTime().toMillis(), attributes.accessTime().toMillis(),
            new FsPermission((short) (attributes.mode() & 0777)),
            Long.toString(attributes.uid()), Long.toString(attributes.gid()), path);
    }

    /** Links that lead nowhere are left out. */
    @Override
    public FileStatus[] listStatus(Path path) throws IOException {
        Path directory = path.makeQualified(uri, workingDirectory);
        Entry entry = find(path);
        if (!entry.attributes().isDirectory()) {
            return new FileStatus[] {statusOf(directory, entry.attributes())};
        }
        List<FileStatus> all = new ArrayList<>();
        for (Entry child : entry.list()) {
            Path name = new Path(directory, new Path(null, null, child.name()));
            Attributes attributes = child.attributes();
            try {
                all.add(attributes.isLink() ? getFileStatus(name) : statusOf(name, attributes));
            } catch (FileNotFoundException missing) {
                continue;
            }
        }
        return all.toArray(new FileStatus[0]);
    }

    @Override
    public void setWorkingDirectory(Path directory) {
        workingDirectory = directory.makeQualified(uri, workingDirectory);
    }

    @Override
    public Path getWorkingDirectory() {
        return workingDirectory;
    }

    @Override
    public void close() throws IOException {
        try {
            super.close();
        } finally {
            if (image != null) {
                image.close();
            }
            if (source != null) {
                source.close();
            }
        }
    }

    // -- writing

    private static IOException readOnly(Path path) {
        return new IOException(path + ": the file system is read-only");
    }

    @Override
    public FSDataOutputStream create(Path path, FsPermission permission, boolean overwrite,
                                     int bufferSize, short replication, long blockSize,
                                     Progressable progress) throws IOException {
        throw readOnly(path);
    }

    @Override
    public FSDataOutputStream append(Path path, int bufferSize, Progressable progress)
        throws IOException {
        throw readOnly(path);
    }

    @Override
    public boolean rename(Path source, Path target) throws IOException {
        throw readOnly(source);
    }

    @Override
    public boolean delete(Path path, boolean recursive) throws IOException {
        throw readOnly(path);
    }

    @Override
    public boolean mkdirs(Path path, FsPermission permission) throws IOException {
        throw readOnly(path);
    }
}
