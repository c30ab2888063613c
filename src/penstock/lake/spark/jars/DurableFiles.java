package penstock;

import com.globalmentor.apache.hadoop.fs.BareLocalFileSystem;
import com.globalmentor.apache.hadoop.fs.NakedLocalFileSystem;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.Syncable;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Hadoop's local file system, through which Iceberg writes every file of a warehouse on this machine's disk: a file
 * whose close returned, and its entry in its folder, survive a power cut. An Iceberg commit closes its data files,
 * manifests and metadata before the catalog names them, so the catalog only names files that survive.
 *
 * scripts/java_jars.py compiles this file into the jar beside it.
 */
public class DurableFiles extends BareLocalFileSystem {
    public DurableFiles() {
        super(new Unchecked());
    }

    /** The files themselves; the class around it adds a file of checksums to each, which is written through here too. */
    public static class Unchecked extends NakedLocalFileSystem {
        private static final int MOST_REMEMBERED = 10000;

        /** Folders whose way from the top of their disk this process has forced to it. */
        private final Set<Object> reachable = ConcurrentHashMap.newKeySet();

        @Override
        protected OutputStream createOutputStreamWithMode(Path path, boolean append, FsPermission permission)
                throws IOException {
            return new SyncedAtClose(super.createOutputStreamWithMode(path, append, permission), pathToFile(path));
        }

        @Override
        protected boolean mkOneDirWithMode(Path path, File folder, FsPermission permission) throws IOException {
            boolean made = super.mkOneDirWithMode(path, folder, permission);
            if (made && folder.getParentFile() != null) {
                syncFolder(folder.getParentFile());
            }
            return made;
        }

        @Override
        public boolean rename(Path from, Path to) throws IOException {
            boolean renamed = super.rename(from, to);
            if (renamed) {
                syncFolder(pathToFile(to).getParentFile());
                syncFolder(pathToFile(from).getParentFile());
            }
            return renamed;
        }

        /** The stream of a new file: its bytes and its entry are on disk when close returns. */
        private final class SyncedAtClose extends OutputStream implements Syncable {
            private final OutputStream bytes;
            private final File file;
            private boolean closed = false;

            SyncedAtClose(OutputStream bytes, File file) {
                this.bytes = bytes;
                this.file = file;
            }

            @Override
            public void write(int value) throws IOException {
                bytes.write(value);
            }

            @Override
            public void write(byte[] from, int offset, int length) throws IOException {
                bytes.write(from, offset, length);
            }

            @Override
            public void flush() throws IOException {
                bytes.flush();
            }

            @Override
            public void hflush() throws IOException {
                ((Syncable) bytes).hflush();
            }

            @Override
            public void hsync() throws IOException {
                ((Syncable) bytes).hsync();
            }

            @Override
            public void close() throws IOException {
                if (closed) {
                    return;
                }
                closed = true;
                try {
                    hsync();
                } finally {
                    bytes.close();
                }
                syncFolder(file.getParentFile());
                makeReachable(file.getParentFile());
            }
        }

        /**
         * Force the entries of the folders that lead to this one to disk, once in this process: an earlier process may
         * have made them and been killed before it could.
         */
        private void makeReachable(File folder) throws IOException {
            if (reachable.contains(folder)) {
                return;
            }
            Object disk = diskOf(folder);
            File above = folder.getParentFile();
            while (above != null && disk.equals(diskOf(above))) {
                try {
                    syncFolder(above);
                } catch (AccessDeniedException error) {
                    // Whoever may not read a folder did not make what is in it.
                }
                above = above.getParentFile();
            }
            if (reachable.size() >= MOST_REMEMBERED) {
                reachable.clear();
            }
            reachable.add(folder);
        }

        private static Object diskOf(File folder) throws IOException {
            return Files.getAttribute(folder.toPath(), "unix:dev", new LinkOption[0]);
        }

        private static void syncFolder(File folder) throws IOException {
            FileChannel entries = FileChannel.open(folder.toPath(), StandardOpenOption.READ);
            try {
                entries.force(true);
            } finally {
                entries.close();
            }
        }
    }
}
