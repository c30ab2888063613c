"""How many bytes of table metadata are written for each byte of posted rows, at a steady rate of small posts.

In: `--seconds N` (180), `--posts N` a second (2). Out: one line of JSON. A pipeline runs in this process with the default
settings of maintenance; new files in the metadata folders of its tables are counted once a second, before Iceberg
deletes them.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
import threading
import time
from pathlib import Path

from penstock.deploy.lifecycle.deployer import DeployOptions
from penstock.deploy.pipeline import Pipeline
from penstock.model.settings import Settings, SparkSettings

ROWS_PER_POST = 50
VIEWS = 3


def project() -> dict[str, str]:
    """A data source and some views over it."""
    files = {
        "datasources/events.datasource": (
            "SCHEMA >\n    `id` UInt32 `json:$.id`,\n    `user` String `json:$.user`\n"
            'ENGINE "MergeTree"\nENGINE_SORTING_KEY "user"\n'
        )
    }
    for number in range(VIEWS):
        files[f"datasources/per_user_{number}.datasource"] = (
            "SCHEMA >\n    `user` String,\n    `n` AggregateFunction(count)\n"
            'ENGINE "AggregatingMergeTree"\nENGINE_SORTING_KEY "user"\n'
        )
        files[f"materializations/view_{number}.pipe"] = (
            "NODE n\nSQL >\n    SELECT user, countState() AS n FROM events GROUP BY user\n"
            f"TYPE materialized\nDATASOURCE per_user_{number}\n"
        )
    return files


class MetadataWatch:
    """Counts the files that appear in the metadata folders."""

    def __init__(self, home: Path):
        self._home = home
        self._sizes: dict[Path, int] = {}

    def look(self) -> None:
        for path in self._home.glob("warehouse/**/metadata/*"):
            if path not in self._sizes and path.exists():
                self._sizes[path] = path.stat().st_size

    def written(self) -> dict[str, int]:
        """Bytes by kind of file."""
        found: dict[str, int] = {}
        for path, size in self._sizes.items():
            kind = "manifest list" if path.name.startswith("snap-") else path.suffix
            found[kind] = found.get(kind, 0) + size
        return found


def measure(home: Path, seconds: float, posts: float) -> dict[str, object]:
    """Post for so long, and count in the second half of the time."""
    pipeline = Pipeline(Settings(spark=SparkSettings(master="local[2]", driver_memory="1g")), home)
    try:
        deployed = pipeline.deployer.deploy(project(), DeployOptions(False, True, False, None))
        for _ in pipeline.deployer.events(deployed.id):
            pass
        body = "\n".join(json.dumps({"id": each, "user": f"u{each % 7}"}) for each in range(ROWS_PER_POST)).encode()
        over, watch, posted = threading.Event(), MetadataWatch(home), [0]

        def post() -> None:
            while not over.wait(1 / posts):
                pipeline.ingestion.append("events", body, None)
                posted[0] += len(body)

        threading.Thread(target=post, daemon=True).start()
        before, commits, input_before = {}, 0, 0
        for second in range(int(seconds)):
            time.sleep(1)
            watch.look()
            if second == seconds // 2:
                before, input_before, commits = watch.written(), posted[0], len(watch._sizes)
        over.set()
        written = {kind: size - before.get(kind, 0) for kind, size in watch.written().items()}
        newest = [max(each.glob("*.json"), key=lambda path: path.name) for each in home.glob("warehouse/*/*/metadata")]
        return {
            "posted": posted[0] - input_before,
            "written": written,
            "files": len(watch._sizes) - commits,
            "ratio": round(sum(written.values()) / (posted[0] - input_before), 1),
            "newest": sorted(path.stat().st_size for path in newest),
            "snapshots": sorted(
                len(json.loads(gzip.decompress(path.read_bytes())).get("snapshots", ())) for path in newest
            ),
        }
    finally:
        pipeline.close()


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--seconds", type=float, default=180.0)
    given.add_argument("--posts", type=float, default=2.0)
    options = given.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(Path(folder), options.seconds, options.posts)))


if __name__ == "__main__":
    main()
