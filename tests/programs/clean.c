/* No trap: clean in both builds. */
int main(void)
{
	return 0;
}
