package protocol

// Queries for content, which clients ask like those of transcripts. They are passed
// on to orchestrators.
const (
	QueryUpload   = "upload"
	QueryDownload = "download"
)

// UploadQuery is an [Upload] to a chat of the client's tenant. The answer is an
// [UploadAnswer].
type UploadQuery struct {
	Chat string `json:"chat"`
	Upload
}

// DownloadQuery is a [Download] from a chat of the client's tenant. The answer is a
// [DownloadAnswer].
type DownloadQuery struct {
	Chat string `json:"chat"`
	Download
}
