# The public names that changed before 0.1.0. For code that was written for an earlier build:
#   sed -E -i -f scripts/rename-0.1.sed Sources/*.swift
# CHANGELOG.md says why, and what has no line here because only a person can decide it.
s/\bimportStartupBundle\b/fetchStartupBundle/g
s/\bcacheAttachments\b/downloadAttachments/g
s/\bCachedAttachmentsSummary\b/AttachmentDownloads/g
s/\bkeepAttachment\(of:/keepDownload(of:/g
s/\bdeleteDownloaded\(_:/removeDownload(of:/g
s/\bdeleteDownloaded\(/removeDownload(of: /g
s/\bmakeClient\(collection:/makeClient(collectionName:/g
s/\bSnapshotStatus\.Unused\b/SnapshotStatus.Rejected/g
s/\bSnapshotStatus\/Unused\b/SnapshotStatus\/Rejected/g
s/\bSnapshotStatus\/unused\b/SnapshotStatus\/rejected/g
s/\bSnapshotStatus\/trust\b/SnapshotStatus\/provenance/g
s/\bisVerifiedHere\b/isVerifiedOnDevice/g
s/\blongestDelay\b/jitter/g
s/\bRemoteSettingsConfig\(trusting:/RemoteSettingsConfig(from:/g
s/\binit\(trusting:/init(from:/g
s/\bRemoteConfigRead\b/RemoteConfigLookup/g
s/\baddReadObserver\b/addLookupObserver/g
s/\bReleaseStatus\b/CatalogueStatus/g
s/\bReleaseReading\b/CatalogueReading/g
s/\bRemoteSettingsConfig\/origin\b/RemoteSettingsConfig\/publisher/g
s/\bRemoteSettingsError\.Network\b/RemoteSettingsError.offline/g
s/\bcatch \.Network\b/catch .offline/g
s/\bRemoteSettings\.Attachment\b/RemoteSettingsAttachment/g
