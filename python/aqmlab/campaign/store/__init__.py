"""The folder of a campaign: manifest, trials' own files, records of chunks, tables, checksums.

Files are written atomically and verified before they are read. Public interface: `folder.Folder`.
"""
