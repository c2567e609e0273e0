/* What is acquired by which call, a table per language. */
#include "scan/paths.h"

static const struct scan_pair python[] = {
	{.what = "lock",
	 .acquire = ".acquire",
	 .release = "release",
	 .lock = true,
	 .held_when_raised = true},
	{.what = "pipe", .acquire = "os.pipe os.pipe2 _pipe_cloexec", .tuple = true},
	{.what = "database session",
	 .acquire = "SessionLocal *.SessionLocal Session *.Session sessionmaker "
		    "*get_session "
		    "*_session *create_session",
	 .held_when_raised = true},
	{.what = "connection",
	 .acquire = "sqlite3.connect psycopg2.connect psycopg.connect pymysql.connect "
		    "MySQLdb.connect *.get_connection *.raw_connection smtplib.SMTP "
		    "ftplib.FTP http.client.HTTPConnection",
	 .held_when_raised = true},
	{.what = "socket",
	 .acquire = "socket.socket socket.create_connection",
	 .held_when_raised = true},
	{.what = "archive",
	 .acquire = "zipfile.ZipFile tarfile.open ZipFile",
	 .held_when_raised = true},
	{.what = "file descriptor",
	 .acquire = "os.open os.dup",
	 .held_when_raised = true},
	{.what = "file",
	 .acquire = "open io.open codecs.open gzip.open bz2.open lzma.open os.fdopen "
		    "tempfile.NamedTemporaryFile tempfile.TemporaryFile"},
};

static const struct scan_pair c[] = {
	{.what = "file",
	 .acquire = "fopen fdopen freopen tmpfile popen fopencookie fmemopen fopen64"},
	{.what = "file descriptor",
	 .acquire = "open open64 openat creat socket accept accept4 dup mkstemp mkostemp "
		    "epoll_create epoll_create1 eventfd timerfd_create signalfd "
		    "inotify_init inotify_init1 memfd_create p_open"},
	{.what = "directory", .acquire = "*opendir"},
	{.what = "lock",
	 .acquire = "pthread_mutex_lock pthread_rwlock_rdlock pthread_rwlock_wrlock "
		    "mtx_lock",
	 .release = "pthread_mutex_unlock pthread_rwlock_unlock mtx_unlock",
	 .lock = true},
	{.what = "memory",
	 .acquire =
		 "malloc calloc realloc strdup strndup xmalloc xcalloc xstrdup kmalloc "
		 "kzalloc g_malloc g_strdup git__malloc git__calloc git__strdup "
		 "realpath",
	 .heap = true},
};

static const struct scan_pair go[] = {
	{.what = "file",
	 .acquire = "os.Open os.OpenFile os.Create os.CreateTemp ioutil.TempFile fs.Open "
		    "fs.OpenFile fs.Create"},
	{.what = "connection",
	 .acquire = "net.Dial net.DialTimeout net.Listen tls.Dial sql.Open .Acquire "
		    ".DialContext",
	 .names = "c conn db l ln listener *Conn *conn res"},
	{.what = "response body",
	 .acquire = ".Get .Do .Post .Head .PostForm .RoundTrip",
	 .names = "resp res response *Resp *resp *Response",
	 .first_not = "ctx *ctx *Ctx context.*",
	 .response = true,
	 .body = true},
	{.what = "rows",
	 .acquire = ".Query .QueryContext .Queryx .Rows",
	 .names = "rows *Rows",
	 .body = true},
	{.what = "transaction",
	 .acquire = ".Begin .BeginTx .BeginTxx .TransactionContext",
	 .release = "Rollback Commit rollback commit Close",
	 .names = "t tx *Tx dbtx sqltx txn trx"},
};

static const struct scan_pair js[] = {
	{.what = "file descriptor",
	 .acquire = "fs.openSync openSync fs.promises.open fsp.open"},
	{.what = "connection",
	 .acquire =
		 ".connect .getConnection .acquire .createQueryRunner .acquireConnection",
	 .names = "client conn connection *Connection *Client queryRunner runner",
	 .callee_not = "this.connect super.connect this.acquire super.acquire",
	 .awaited = true,
	 .held_when_raised = true},
};

static const struct scan_pair java[] = {
	{.what = "lock",
	 .acquire = ".lock .lockInterruptibly",
	 .release = "unlock",
	 .lock = true,
	 .held_when_raised = true},
	{.what = "stream",
	 .acquire =
		 "FileInputStream FileOutputStream FileReader FileWriter "
		 "RandomAccessFile "
		 "ZipFile JarFile ZipInputStream ZipOutputStream JarInputStream "
		 "JarOutputStream GZIPInputStream GZIPOutputStream BufferedReader "
		 "BufferedWriter InputStreamReader OutputStreamWriter PrintWriter "
		 "PrintStream Scanner DataInputStream DataOutputStream "
		 "ObjectInputStream ObjectOutputStream BufferedInputStream "
		 "BufferedOutputStream Socket ServerSocket DatagramSocket URLClassLoader "
		 ".openStream .getInputStream .getOutputStream .newInputStream "
		 ".newOutputStream .newBufferedReader .newBufferedWriter "
		 ".getResourceAsStream .openInputStream .openOutputStream "
		 ".openRawResource "
		 ".newByteChannel .newDirectoryStream .tokenStream Formatter "
		 "FileChannel.open",
	 .held_when_raised = true},
	{.what = "stream",
	 .acquire = ".getInputStream .getOutputStream .getReader .getWriter",
	 .derived = true,
	 .held_when_raised = true},
	{.what = "database object",
	 .acquire = ".getConnection .prepareStatement .createStatement .executeQuery "
		    ".prepareCall .rawQuery .query .openConnection .openSession",
	 .names = "c conn con connection *Connection *Conn st stmt statement ps pstmt "
		  "*Stmt "
		  "*Statement rs resultSet *Rs result cursor *Cursor session *Session",
	 .held_when_raised = true},
};

const struct scan_pair *scan_pairs(enum source_lang lang, size_t *ret_n)
{
	switch ((int)lang) {
	case LANG_PYTHON:
		*ret_n = sizeof(python) / sizeof(*python);
		return python;
	case LANG_C:
	case LANG_CPP:
		*ret_n = sizeof(c) / sizeof(*c);
		return c;
	case LANG_JAVASCRIPT:
	case LANG_TYPESCRIPT:
	case LANG_TSX:
		*ret_n = sizeof(js) / sizeof(*js);
		return js;
	case LANG_JAVA:
		*ret_n = sizeof(java) / sizeof(*java);
		return java;
	case LANG_GO:
		*ret_n = sizeof(go) / sizeof(*go);
		return go;
	default:
		*ret_n = 0;
		return NULL;
	}
}
