"""Files that data sources take by themselves: of buckets, and of folders of this machine."""
